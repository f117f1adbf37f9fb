#!/usr/bin/env bash
# Apache's cross tests for Java, compiled against the released library.
. "$(dirname "$0")/lib.sh"

need java
done_already java && exit 0
need javac
need mvn
dir=$CACHE/java
say "java: libthrift ${VERSION#v} and what the tests need"
rm -rf "$dir"
mkdir -p "$dir/src" "$dir/gen" "$dir/classes"
cat >"$dir/pom.xml" <<POM
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>interop</groupId><artifactId>thrift</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.thrift</groupId><artifactId>libthrift</artifactId><version>${VERSION#v}</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-nop</artifactId><version>1.7.36</version></dependency>
    <dependency><groupId>org.junit.jupiter</groupId><artifactId>junit-jupiter-api</artifactId><version>5.9.1</version></dependency>
  </dependencies>
</project>
POM
(cd "$dir" && quiet mvn mvn -B -q org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies -DoutputDirectory=lib)
cp "$APACHE"/lib/java/src/crossTest/java/org/apache/thrift/test/Test{Client,Server}.java \
	"$APACHE"/lib/java/src/test/java/org/apache/thrift/server/ServerTestBase.java "$dir/src/"
"$THRIFT" -nowarn --gen java:jakarta_annotations -out "$dir/gen" "$IDL" >&2
(cd "$dir" && find src gen -name '*.java' >sources &&
	quiet javac javac -nowarn -proc:none -cp 'lib/*' -d classes @sources)
mark_done java
