// HTTP requests as bytes: most nearly right, so that they reach what reads them, and wrong in one
// or a few places.
import { METHODS, VERSIONS, PIECES, WHOLE, FOREIGN, ODD_HOSTS, HEADERS, BODIES, CHUNKS } from './odd-http.ts';
import type { Random } from './random.ts';

/** Who is asked. */
export type Face = {
  readonly name: string;
  readonly port: number;
  /** Under which it answers. */
  readonly hosts: readonly [string, ...string[]];
  /** Of its own pages. */
  readonly origin: string;
  readonly paths: readonly [string, ...string[]];
  /** Headers that let one in. */
  readonly inside: readonly [readonly string[], ...(readonly string[])[]];
  readonly bodies: readonly [string, ...string[]];
};

export type AnyRequest = {
  readonly bytes: Buffer;
  /**
   * It names one host, another than those that are answered, and says so well enough that all
   * servers read it the same.
   */
  readonly foreign: boolean;
};

/** What may be wrong with a request. */
const WRONGS = [
  'method',
  'target',
  'target',
  'version',
  'host',
  'header',
  'header',
  'body',
  'length',
  'chunks',
  'ends',
  'flips',
  'cut',
] as const;
type Wrong = (typeof WRONGS)[number];

export function anyRequest(random: Random, face: Face): AnyRequest {
  const count = random.weighted([
    [3, () => 0],
    [5, () => 1],
    [2, () => 2],
    [1, () => 4],
  ]);
  const wrongs = new Set<Wrong>(Array.from({ length: count }, () => random.pick(WRONGS)));
  const host = anyHost(random, face, wrongs.has('host'));
  const bytes = Buffer.from(textOf(random, face, wrongs, host.lines), 'latin1');
  if (wrongs.has('flips'))
    for (let n = random.nat(4); n >= 0; n--) bytes[random.nat(bytes.length - 1)] = random.nat(255);
  const isWhole = !['flips', 'cut', 'ends'].some((wrong) => wrongs.has(wrong as Wrong));
  return {
    bytes: wrongs.has('cut') ? bytes.subarray(0, random.nat(bytes.length)) : bytes,
    foreign: host.foreign && isWhole,
  };
}

function textOf(random: Random, face: Face, wrongs: ReadonlySet<Wrong>, host: readonly string[]): string {
  const method = wrongs.has('method') ? random.pick(METHODS) : random.pick(['GET', 'GET', 'POST']);
  const target = wrongs.has('target') ? wrongTarget(random, face) : random.pick(face.paths);
  const version = wrongs.has('version') ? random.pick(VERSIONS) : 'HTTP/1.1';
  const body = wrongs.has('body') ? random.pick(BODIES) : method === 'POST' ? random.pick(face.bodies) : '';
  const length = Buffer.byteLength(body, 'latin1') + (wrongs.has('length') ? random.nat(20) - 10 : 0);
  const fields = [
    ...host,
    ...(random.nat(3) > 0 ? random.pick(face.inside) : []),
    ...(random.nat(3) > 0 ? [`Origin: ${face.origin}`] : []),
    ...(random.nat(3) > 0 ? ['Content-Type: application/json'] : []),
    ...(wrongs.has('header') ? Array.from({ length: 1 + random.nat(2) }, () => random.pick(HEADERS)) : []),
    ...(wrongs.has('chunks')
      ? ['Transfer-Encoding: chunked']
      : body === '' && length === 0
        ? []
        : [`Content-Length: ${length}`]),
  ];
  const end = wrongs.has('ends') ? random.pick(['\n', '\r', '\0']) : '\r\n';
  return [`${method} ${target} ${version}`, ...fields, '', wrongs.has('chunks') ? random.pick(CHUNKS) : body].join(end);
}

function wrongTarget(random: Random, { paths }: Face): string {
  if (random.nat(4) === 0) return random.pick(WHOLE);
  let path: string = random.pick(paths);
  for (let n = random.nat(1); n >= 0; n--) {
    const at = random.nat(path.length);
    path = path.slice(0, at) + random.pick(PIECES) + path.slice(random.bool() ? at : at + random.nat(3));
  }
  return path;
}

type AnyHost = { readonly lines: readonly string[]; readonly foreign: boolean };

function anyHost(random: Random, { hosts }: Face, isWrong: boolean): AnyHost {
  if (!isWrong) return { lines: [`Host: ${random.pick(hosts)}`], foreign: false };
  return random.weighted<AnyHost>([
    [6, () => ({ lines: [`Host: ${random.pick(FOREIGN)}`], foreign: true })],
    [2, () => ({ lines: [`Host: ${random.pick(ODD_HOSTS)}`], foreign: false })],
    [1, () => ({ lines: [`Host: ${random.pick(FOREIGN)}`, `Host: ${random.pick(hosts)}`], foreign: false })],
    [1, () => ({ lines: [], foreign: false })],
  ]);
}
