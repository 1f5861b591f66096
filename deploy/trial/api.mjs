// The HTTP API as a program elsewhere calls it: over TLS, under the page's name, with a person's token.
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';

const NAME = 'perdure.localhost';
const PORT = 8443;

/** @param {{ address: string, secrets: string }} at */
export function openApi({ address, secrets }) {
  const ca = readFileSync(join(secrets, 'tls.crt'));
  const [{ token }] = JSON.parse(readFileSync(join(secrets, 'people.json'), 'utf8'));
  const headers = { host: `${NAME}:${PORT}`, authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const ask = (method, path, { body, key, wait = 60_000 } = {}) =>
    new Promise((resolve, reject) => {
      const options = { method, host: address, port: PORT, path: `/api/v1${path}`, servername: NAME, ca };
      const sending = key === undefined ? headers : { ...headers, 'idempotency-key': key };
      const sent = request({ ...options, headers: sending, timeout: wait }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (part) => (text += part));
        answer.on('error', reject).on('end', () => resolve({ status: answer.statusCode, text }));
      });
      sent.on('error', reject).on('timeout', () => sent.destroy(new Error(`${path} did not answer`)));
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  const json = async (method, path, sent) => {
    const { status, text } = await ask(method, path, sent);
    if (status >= 300) throw new Error(`${method} ${path} answered ${status}: ${text}`);
    return JSON.parse(text);
  };
  return {
    get: (path) => json('GET', path),
    /** With a key a request may be sent again: it counts once. */
    post: (path, body, key) => json('POST', path, { body, key }),
    /** All events of a stream, once it has ended. */
    events: async (path) => {
      const { status, text } = await ask('GET', path, { wait: 120_000 });
      if (status !== 200) throw new Error(`${path} answered ${status}: ${text}`);
      return [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data));
    },
  };
}
