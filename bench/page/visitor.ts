// A browser as far as HTTP goes: it enters by the printed address, keeps the pass, reads pages and
// listens to streams.
import { request, type IncomingMessage } from 'node:http';

export type Listening = {
  /** Resolves when these words have come. */
  hear(words: string): Promise<void>;
};

export type Visitor = {
  read(path: string): Promise<string>;
  /** Sends a form as the page's script does. */
  post(path: string, body: unknown): Promise<string>;
  /** Resolves when the stream has begun. */
  listen(path: string): Promise<Listening>;
};

export async function enterPage(url: URL): Promise<Visitor> {
  const code = JSON.stringify({ token: url.searchParams.get('code') });
  const { pass } = JSON.parse(await textOf('/sign-in', await ask(url, '/sign-in', '', code))) as { pass: string };
  const authorization = `Basic ${Buffer.from(`perdure:${pass}`).toString('base64')}`;
  return {
    read: async (path) => textOf(path, await ask(url, path, authorization)),
    post: async (path, body) => textOf(path, await ask(url, path, authorization, JSON.stringify(body))),
    listen: async (path) => listening(await ask(url, path, authorization)),
  };
}

async function textOf(path: string, answer: IncomingMessage): Promise<string> {
  let text = '';
  for await (const part of answer.setEncoding('utf8')) text += String(part);
  if (answer.statusCode === 200) return text;
  throw new Error(`${path} was answered with ${answer.statusCode}: ${text.slice(0, 500)}`);
}

/** Names under .localhost are this machine, also where the resolver does not know them. */
function ask(url: URL, path: string, authorization: string, body?: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const posted = body === undefined ? {} : { origin: url.origin, 'content-type': 'application/json' };
    const headers = { host: url.host, authorization, ...posted };
    const method = body === undefined ? 'GET' : 'POST';
    const at = { host: '127.0.0.1', port: url.port, path, method, headers, agent: false };
    request(at, resolve).once('error', reject).end(body);
  });
}

function listening(answer: IncomingMessage): Listening {
  let waiting: { readonly words: string; readonly heard: () => void } | null = null;
  let rest = '';
  const look = (): void => {
    if (waiting === null || !rest.includes(waiting.words)) return;
    const { heard } = waiting;
    waiting = null;
    rest = '';
    heard();
  };
  answer.setEncoding('utf8').on('data', (part: string) => {
    rest += part;
    look();
  });
  return {
    hear: (words) =>
      new Promise((heard) => {
        waiting = { words, heard };
        look();
      }),
  };
}
