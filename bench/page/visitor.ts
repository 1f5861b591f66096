// A browser as far as HTTP goes: it enters by the printed address, keeps the pass, reads pages and
// listens to streams.
import { request, type IncomingMessage } from 'node:http';

type Listening = {
  /** Resolves when these words have come. */
  hear(words: string): Promise<void>;
};

export type Visitor = {
  read(path: string): Promise<string>;
  /** Sends a form as the page's script does. */
  post(path: string, body: unknown): Promise<string>;
  /** Resolves when the stream has begun. */
  listen(path: string): Promise<Listening>;
  /** Takes what comes as a browser would, until it leaves. Resolves when the stream has begun. */
  follow(path: string): Promise<Following>;
};

type Following = {
  /** Bytes that have come. */
  readonly bytes: () => number;
  leave(): void;
};

export async function enterPage(url: URL): Promise<Visitor> {
  const code = JSON.stringify({ token: url.searchParams.get('code') });
  const { pass } = JSON.parse(await textOf('/sign-in', await ask(url, '/sign-in', '', code))) as { pass: string };
  const authorization = `Basic ${Buffer.from(`perdure:${pass}`).toString('base64')}`;
  return {
    read: async (path) => textOf(path, await ask(url, path, authorization)),
    post: async (path, body) => textOf(path, await ask(url, path, authorization, JSON.stringify(body))),
    listen: async (path) => listening(await ask(url, path, authorization)),
    follow: async (path) => following(await ask(url, path, authorization)),
  };
}

async function textOf(path: string, answer: IncomingMessage): Promise<string> {
  let text = '';
  for await (const part of answer.setEncoding('utf8')) text += String(part);
  if (answer.statusCode === 200) return text;
  throw new Error(`${path} was answered with ${answer.statusCode}: ${wordsOf(text)}`);
}

const wordsOf = (html: string): string =>
  (/<main[^>]*>(.*)<\/main>/s.exec(html)?.[1] ?? html).replace(/<[^>]*>/g, ' ').slice(0, 500);

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

function following(answer: IncomingMessage): Following {
  let bytes = 0;
  answer.on('data', (part: Buffer) => void (bytes += part.length));
  // A stream that is left is an error to its reader.
  answer.on('error', () => undefined);
  return { bytes: () => bytes, leave: () => void answer.destroy() };
}

function listening(answer: IncomingMessage): Listening {
  let waiting: { readonly words: string; readonly heard: () => void } | null = null;
  let rest = '';
  const look = (): void => {
    if (waiting === null || !rest.includes(waiting.words)) return;
    const { heard: resolve } = waiting;
    waiting = null;
    rest = '';
    resolve();
  };
  answer.setEncoding('utf8').on('data', (part: string) => {
    rest += part;
    look();
  });
  return {
    hear: (words) =>
      new Promise((resolve) => {
        waiting = { words, heard: resolve };
        look();
      }),
  };
}
