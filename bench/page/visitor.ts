// A browser as far as HTTP goes: it enters by the printed address, keeps the cookie, reads pages and listens to streams.
import { request, type IncomingMessage } from 'node:http';

export type Listening = {
  /** Resolves when these words have come. */
  hear(words: string): Promise<void>;
};

export type Visitor = {
  read(path: string): Promise<string>;
  /** Resolves when the stream has begun. */
  listen(path: string): Promise<Listening>;
};

export async function enterPage(url: URL): Promise<Visitor> {
  const entered = await ask(url, `${url.pathname}${url.search}`);
  entered.resume();
  const [cookie = ''] = entered.headers['set-cookie']?.[0]?.split(';') ?? [];
  return {
    read: async (path) => {
      const answer = await ask(url, path, cookie);
      let text = '';
      for await (const part of answer.setEncoding('utf8')) text += String(part);
      if (answer.statusCode !== 200)
        throw new Error(`${path} was answered with ${answer.statusCode}: ${text.slice(0, 500)}`);
      return text;
    },
    listen: async (path) => listening(await ask(url, path, cookie)),
  };
}

/** Names under .localhost are this machine, also where the resolver does not know them. */
function ask(url: URL, path: string, cookie = ''): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = { host: url.host, cookie };
    request({ host: '127.0.0.1', port: url.port, path, headers, agent: false }, resolve).once('error', reject).end();
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
