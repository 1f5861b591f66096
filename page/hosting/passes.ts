// Makes and checks what lets a browser in. A printed address has a code, which works once, soon,
// and only for the process that made it. The browser exchanges it for a pass, which is in no
// address. Both are signed with a key that leaves neither this process nor the data folder.
// The code of an address that a browser is started with is on a command line, which other users of
// the machine can read: it works for the page's own user alone.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

const MINUTE_MS = 60_000;
export const CODE_MINUTES = 10;
const OPENED_MINUTES = 2;
const PASS_DAYS = 30;

/** `run` names the process that takes the code. */
type CodeMaker = { readonly key: string; readonly run: string };

/** Anyone may use a `printed` code; an `opened` one only the page's own user. */
export type CodeKind = 'printed' | 'opened';

const KINDS = {
  printed: { about: 'code', minutes: CODE_MINUTES },
  opened: { about: 'opened', minutes: OPENED_MINUTES },
};

export function newCode({ key, run }: CodeMaker, kind: CodeKind, now = Date.now()): string {
  const { about, minutes } = KINDS[kind];
  return signText(key, [about, run], now + minutes * MINUTE_MS);
}

export type TakenCode = 'good' | 'stale' | 'of another user';

/**
 * Returns a function that tells whether a code is good, which it is only the first time. A code
 * that another user sends is not used up by that.
 */
export function codeTaker(
  { key, run }: CodeMaker,
  now = Date.now,
): (code: string, isOwnUser: () => boolean) => TakenCode {
  const used = new Map<string, number>();
  return (code, isOwnUser) => {
    for (const [old, ends] of used) if (ends <= now()) used.delete(old);
    const printed = endOf(key, [KINDS.printed.about, run], code);
    const ends = printed ?? endOf(key, [KINDS.opened.about, run], code);
    if (ends === null || ends <= now() || used.has(code)) return 'stale';
    if (printed === null && !isOwnUser()) return 'of another user';
    used.set(code, ends);
    return 'good';
  };
}

/** `name` is the name of the page that the pass is for. */
export function newPass(key: string, name: string, now = Date.now()): string {
  return signText(key, ['pass', name], now + PASS_DAYS * 24 * 60 * MINUTE_MS);
}

export function isPass(key: string, name: string, pass: string, now = Date.now()): boolean {
  const ends = endOf(key, ['pass', name], pass);
  return ends !== null && ends > now;
}

/** `name` is the name of the page. */
type SharePlace = { readonly key: string; readonly name: string; readonly session: string };

/** Makes the signature of a link by which anyone can view one session until it expires. */
export function newShare({ key, name, session }: SharePlace, hours: number, now = Date.now()): string {
  return signText(key, ['share', name, session], now + hours * 60 * MINUTE_MS);
}

/** Returns when a share ends, in milliseconds since the epoch; null when it is over or not ours. */
export function shareEnd({ key, name, session }: SharePlace, share: string, now = Date.now()): number | null {
  const ends = endOf(key, ['share', name, session], share);
  return ends !== null && ends > now ? ends : null;
}

function signText(key: string, about: readonly string[], ends: number): string {
  const signed = `${ends.toString(36)}.${randomBytes(16).toString('base64url')}`;
  return `${signed}.${macOf(key, about, signed)}`;
}

/** Returns when it ends, or null for a wrong signature. */
function endOf(key: string, about: readonly string[], text: string): number | null {
  const [, signed = '', ends = '', mac = ''] = /^(([0-9a-z]{1,11})\.[\w-]{22})\.([\w-]{43})$/.exec(text) ?? [];
  const wanted = macOf(key, about, signed);
  if (mac.length !== wanted.length || !timingSafeEqual(Buffer.from(mac), Buffer.from(wanted))) return null;
  return Number.parseInt(ends, 36);
}

const macOf = (key: string, about: readonly string[], signed: string): string =>
  createHmac('sha256', key)
    .update(JSON.stringify([...about, signed]))
    .digest('base64url');
