// Reads messages of HTTP/1 from stdin and says what Node's llhttp makes of them: the
// same conversation as oracle.py's.
'use strict';
process.removeAllListeners('warning');
const { HTTPParser } = process.binding('http_parser');

function parse(kind, data) {
  const p = new HTTPParser();
  p.initialize(kind === 0 ? HTTPParser.REQUEST : HTTPParser.RESPONSE, {});
  const messages = [];
  let head = ['', ''], body = [], left = false, code = 0, early = '';
  p[HTTPParser.kOnHeaders] = (headers, url) => { early += url || ''; }; // behind trailers Node tells the target here
  p[HTTPParser.kOnHeadersComplete] = (major, minor, headers, method, url, status, text, upgrade) => {
    code = status;
    head = kind === 0 ? [methods[method], early + (url || '')] : [String(status), ''];
    body = [];
    early = '';
    left = left || upgrade;
    return 0;
  };
  p[HTTPParser.kOnBody] = (b) => { body.push(Buffer.from(b)); };
  p[HTTPParser.kOnMessageComplete] = () => {
    early = '';
    if (kind === 0 || code >= 200) messages.push([head[0], head[1], Buffer.concat(body).toString('hex')]);
  };
  if (!(p.execute(data) instanceof Error) && kind === 1) p.finish();
  p.close();
  return { messages, left };
}

const { methods } = process.binding('http_parser');
console.log(JSON.stringify(['llhttp of node']));
let have = Buffer.alloc(0);
process.stdin.on('data', (chunk) => {
  have = Buffer.concat([have, chunk]);
  let out = '';
  while (have.length >= 5) {
    const n = have.readUInt32BE(1);
    if (have.length < 5 + n) break;
    out += JSON.stringify({ 'llhttp of node': parse(have[0], have.subarray(5, 5 + n)) }) + '\n';
    have = have.subarray(5 + n);
  }
  process.stdout.write(out);
});
