// Tells whether anything listens at an address. A gRPC channel that was refused waits before it
// tries again, and does not say why.
import { connect } from 'node:net';
import { codeOf, reasonOf } from '../system/text.ts';

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'its name cannot be looked up',
};

/** Resolves to null when a connection was accepted, else to why not. `address` is host:port. */
export function probeTcp(address: string, timeoutMs: number): Promise<string | null> {
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, colon).replace(/^\[(.*)\]$/, '$1');
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(address.slice(colon + 1)), timeout: timeoutMs });
    const done = (problem: string | null) => {
      socket.destroy();
      resolve(problem);
    };
    socket.once('connect', () => done(null));
    socket.once('timeout', () => done('it does not answer'));
    socket.once('error', (error) => done(REASONS[codeOf(error) ?? ''] ?? reasonOf(error)));
  });
}
