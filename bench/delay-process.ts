// A service that is further away: what comes is passed to another address a while later, in a
// process of its own, and answers come back at once. Arguments: the other's URL, milliseconds.
// Prints its own URL; ends with its standard input.
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

const [target = '', delayMs = '0'] = process.argv.slice(2);
const { hostname, port } = new URL(target);
const agent = new Agent({ keepAlive: true });

const server = createServer((incoming, outgoing) => {
  setTimeout(() => {
    const options = { hostname, port, agent, method: incoming.method, path: incoming.url, headers: incoming.headers };
    const onward = request(options, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.once('error', () => outgoing.destroy());
    incoming.pipe(onward);
  }, Number(delayMs));
});

server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
process.stdin.resume().once('end', () => process.exit(0));
