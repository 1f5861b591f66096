// Stands between sandboxes and the server, and cuts connections: before a request arrives, before
// its answer does, and streams in the middle of a frame. It notes what fences have answered.
import { type ClientRequest, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { Transform } from 'node:stream';
import { random, type Random } from '../../support/random.ts';
import { SERVERS } from '../hosts-under-fire/host.ts';

/** One in so many requests of a kind is cut, before or after it took effect. */
const CUT_IN = { result: 6, fence: 12, work: 15, stream: 3, list: 8 } as const;
type Kind = keyof typeof CUT_IN;

/** When a fence let a call begin, in milliseconds since the epoch. */
export type Passed = { readonly call: string; readonly at: number };

export type Proxy = {
  readonly url: string;
  /** How many were cut, by kind. */
  readonly cuts: Readonly<Record<Kind, number>>;
  readonly passed: readonly Passed[];
  /** How many answers of a kind had a status that is refused for good: 403, 409 or 412. */
  readonly refused: Readonly<Record<Kind, number>>;
  /** Cuts nothing any more. */
  calm(): void;
};

/**
 * `port`: where the server listens on loopback. `isFenced`: calls may be lost on their way, since
 * those that have not begun are shown again.
 */
export async function startProxy(port: number, seed: number, isFenced: boolean): Promise<Proxy> {
  const dice = random(seed);
  const cuts = { result: 0, fence: 0, work: 0, stream: 0, list: 0 };
  const refused = { result: 0, fence: 0, work: 0, stream: 0, list: 0 };
  const passed: Passed[] = [];
  let isCalm = false;
  const server = createServer((incoming, response) => {
    const kind = kindOf(incoming, isFenced);
    const cut = kind !== null && !isCalm && dice.nat(CUT_IN[kind] - 1) === 0 ? kind : null;
    if (cut) cuts[cut] += 1;
    if (cut && cut !== 'stream' && dice.bool()) return void incoming.socket.destroy();
    const onward = forward(incoming, response, port);
    onward.once('response', (answer) => {
      const { statusCode = 0 } = answer;
      if (kind && [403, 409, 412].includes(statusCode)) refused[kind] += 1;
      const call = new URL(incoming.url ?? '', 'http://proxy').searchParams.get('call');
      if (kind === 'fence' && statusCode === 200 && call) passed.push({ call, at: Date.now() });
      if (cut && cut !== 'stream') return void incoming.socket.destroy();
      response.writeHead(statusCode, answer.headers);
      const whole = cut === 'stream' ? answer.pipe(cutInFrame(response, dice, isFenced)) : answer;
      whole.pipe(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, SERVERS, resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  return { url: `http://${SERVERS}:${address.port}`, cuts, passed, refused, calm: () => void (isCalm = true) };
}

/** Lists of events are cut where a call that is shown once may be lost. */
function kindOf({ method, url = '' }: IncomingMessage, isFenced: boolean): Kind | null {
  if (url.includes('/fence?')) return 'fence';
  if (url.includes('/work/')) return 'work';
  if (url.includes('/events/stream')) return 'stream';
  if (isFenced && method === 'GET' && url.includes('/events')) return 'list';
  return method === 'POST' ? 'result' : null;
}

/** Either end that breaks takes the other with it. */
function forward(incoming: IncomingMessage, response: ServerResponse, port: number): ClientRequest {
  const { method, url, headers } = incoming;
  const options = { host: '127.0.0.1', port, method, path: url, headers: { ...headers, host: `127.0.0.1:${port}` } };
  const onward = request({ ...options, agent: false });
  const end = (): void => void (onward.destroy(), response.destroy());
  onward.once('error', end);
  onward.once('response', (answer) => answer.once('error', end));
  response.once('close', () => void onward.destroy());
  incoming.once('error', end);
  incoming.pipe(onward);
  return onward;
}

/**
 * Cuts a stream in the frame of a call where `isFenced`, else in that of an idle session, which
 * comes after the calls that it waits for: one that is shown once and does not arrive ends after a
 * quarter of an hour.
 */
function cutInFrame(response: ServerResponse, dice: Random, isFenced: boolean): Transform {
  let frames = 1 + dice.nat(8);
  const frame = isFenced ? 'event: agent.tool_use' : 'event: session.status_idle';
  return new Transform({
    transform(bytes: Buffer, _, done) {
      const place = bytes.lastIndexOf(frame);
      const isBefore = !isFenced && bytes.includes('event: agent.tool_use', place);
      if (place < 0 || isBefore || (frames -= 1) > 0) return done(null, bytes);
      response.write(bytes.subarray(0, place + 20), () => void response.destroy());
    },
  });
}
