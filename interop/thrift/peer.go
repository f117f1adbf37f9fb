package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A peer is one implementation's pair of test programs.
type peer struct {
	name      string
	protocols []string // what both programs speak
	answers   []string // what the server speaks besides
	// server and client give command lines; a client may have several, all of
	// which must pass. The programs run in dir.
	server func(port int, transport, protocol string) []string
	client func(port int, transport, protocol string) [][]string
	// passed looks for the words without which a client has not finished, and
	// for those that tell of a failure it does not put into its exit status.
	passed func(output string) error
	dir    string
	// calls is how many different methods of ThriftTest the client is known to
	// call, so that a run that stops half-way is not taken for a pass.
	calls int

	skip string // set by setUp: why this peer is not here
}

// serves reports whether the peer's server speaks a protocol.
func (p *peer) serves(protocol string) bool {
	return slices.Contains(p.protocols, protocol) || slices.Contains(p.answers, protocol)
}

// allMethods is the number of methods in service ThriftTest.
const allMethods = 23

// allPeers describes every peer this program knows.
func allPeers(o *options) []*peer {
	cache := filepath.Join(o.cache, "thrift")
	return []*peer{limosaPeer(o.work), pythonPeer(cache), javaPeer(cache), nodePeer(cache), goPeer(cache)}
}

// choosePeers gives the peers that were asked for, and Limosa first unless the
// peers are to be paired with each other.
func choosePeers(o *options) ([]*peer, error) {
	var chosen []*peer
	all := allPeers(o)
	for _, p := range all {
		wanted := slices.Contains(o.peers, p.name)
		if wanted || (p.name == limosaName && !o.self) {
			chosen = append(chosen, p)
		}
	}
	for _, name := range o.peers {
		if !slices.ContainsFunc(all, func(p *peer) bool { return p.name == name }) {
			return nil, fmt.Errorf("unknown peer %q", name)
		}
	}
	return chosen, nil
}

const limosaName = "limosa"

func limosaPeer(dir string) *peer {
	program := filepath.Join(dir, "peer")
	args := func(mode string, port int, transport, protocol string) []string {
		return []string{program, mode, "-port", strconv.Itoa(port), "-transport", transport, "-protocol", protocol}
	}
	return &peer{
		name:      limosaName,
		dir:       dir,
		calls:     allMethods,
		protocols: []string{"binary", "compact", "header", "headerc", "multi", "multic", "multih"},
		server: func(port int, transport, protocol string) []string {
			return args("server", port, transport, protocol)
		},
		client: func(port int, transport, protocol string) [][]string {
			return [][]string{args("client", port, transport, protocol)}
		},
		passed: words("all answers as expected"),
	}
}

func pythonPeer(cache string) *peer {
	dir := filepath.Join(cache, "python", "test")
	python := filepath.Join(cache, "python", "venv", "bin", "python")
	args := func(script string, port int, transport, protocol string) []string {
		protocol = served(protocol)
		return []string{python, "-u", script, "--genpydir=gen-py", "--port=" + strconv.Itoa(port),
			"--transport=" + transport, "--protocol=" + protocol}
	}
	return &peer{
		name:      "python",
		dir:       dir,
		calls:     21, // neither testStringMap nor testInsanity
		protocols: []string{"binary", "compact", "header", "json", "multi", "multic", "multih"},
		answers:   []string{"headerc"},
		server: func(port int, transport, protocol string) []string {
			// One connection at a time: a client that opens a second one
			// behind its own back hangs here.
			return append(args("TestServer.py", port, transport, protocol), "TSimpleServer")
		},
		client: func(port int, transport, protocol string) [][]string {
			return [][]string{append(args("TestClient.py", port, transport, protocol), "--host=127.0.0.1")}
		},
		passed: words("\nOK"),
	}
}

func javaPeer(cache string) *peer {
	dir := filepath.Join(cache, "java")
	args := func(class string, port int, transport, protocol string) []string {
		return []string{"java", "-XX:TieredStopAtLevel=1", "-cp", "classes:lib/*", "org.apache.thrift.test." + class,
			"--port=" + strconv.Itoa(port), "--transport=" + transport, "--protocol=" + protocol}
	}
	return &peer{
		name:      "java",
		dir:       dir,
		calls:     21, // neither testBool nor testMulti
		protocols: []string{"binary", "compact", "json", "multi", "multic"},
		server: func(port int, transport, protocol string) []string {
			return args("TestServer", port, transport, protocol)
		},
		client: func(port int, transport, protocol string) [][]string {
			return [][]string{append(args("TestClient", port, transport, protocol), "--host=127.0.0.1")}
		},
		passed: words("Avg time:", "*** FAILURE ***"),
	}
}

func nodePeer(cache string) *peer {
	dir := filepath.Join(cache, "node")
	args := func(script string, port int, transport, protocol string) []string {
		kind := "tcp"
		switch protocol {
		case "multi":
			kind, protocol = "multiplex", "binary"
		case "multic":
			kind, protocol = "multiplex", "compact"
		case "multih":
			kind, protocol = "multiplex", "header"
		}
		return []string{"node", script, "--type=" + kind, "--port=" + strconv.Itoa(port), "-t", transport, "-p", served(protocol)}
	}
	return &peer{
		name:      "node",
		dir:       dir,
		calls:     21, // neither testMulti nor testMultiException
		protocols: []string{"binary", "compact", "header", "json", "multi", "multic", "multih"},
		answers:   []string{"headerc"},
		server: func(port int, transport, protocol string) []string {
			return args("server.mjs", port, transport, protocol)
		},
		client: func(port int, transport, protocol string) [][]string {
			promises := append(args("client.mjs", port, transport, protocol), "--host=127.0.0.1")
			// Only the callback driver calls testBinary and testMapMap.
			return [][]string{promises, append(slices.Clone(promises), "--callback")}
		},
		passed: words("Server successfully tested!", "\nnot ok", "failed to complete"),
	}
}

func goPeer(cache string) *peer {
	dir := filepath.Join(cache, "go")
	args := func(program string, port int, transport, protocol string) []string {
		return []string{filepath.Join(dir, "bin", program), "--host=127.0.0.1", "--port=" + strconv.Itoa(port),
			"--transport=" + transport, "--protocol=" + served(protocol)}
	}
	return &peer{
		name:      "go",
		dir:       dir,
		calls:     22, // not testUuid
		protocols: []string{"binary", "compact", "header", "json"},
		answers:   []string{"headerc"},
		server: func(port int, transport, protocol string) []string {
			return args("testserver", port, transport, protocol)
		},
		client: func(port int, transport, protocol string) [][]string {
			return [][]string{args("testclient", port, transport, protocol)}
		},
		passed: words(""), // it prints nothing and exits with 1 at the first wrong answer
	}
}

// served is what a peer's server is told: which messages stand behind a header
// is the client's choice.
func served(protocol string) string {
	if protocol == "headerc" {
		return "header"
	}
	return protocol
}

// words makes a check of a client's output: it must hold want and nothing of
// avoid.
func words(want string, avoid ...string) func(string) error {
	return func(output string) error {
		if !strings.Contains(output, want) {
			return fmt.Errorf("its output lacks %q", strings.TrimSpace(want))
		}
		for _, word := range avoid {
			if strings.Contains(output, word) {
				return fmt.Errorf("its output has %q", strings.TrimSpace(word))
			}
		}
		return nil
	}
}
