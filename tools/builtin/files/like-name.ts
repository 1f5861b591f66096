// Finds names of files that look the same and are not.
import { isUtf8 } from 'node:buffer';
import { readdir } from 'node:fs/promises';
import { normalizeDrawn } from './lookalikes.ts';

/**
 * `alike`: another name that is drawn the same. `bytes`: the name is not UTF-8, and the wanted text
 * is how it is shown.
 */
export type LikeName =
  { readonly kind: 'alike'; readonly name: string; readonly isSame: boolean } | { readonly kind: 'bytes' };

/**
 * Finds an entry of `folder` that looks like `name`, which does not exist in it. `isSame`: it is
 * that name in another normal form. Null: no entry looks like it.
 */
export async function findLikeName(folder: string, name: string): Promise<LikeName | null> {
  const entries = await readdir(folder, { encoding: 'buffer' }).catch(() => []);
  const looked = normalizeDrawn(name);
  let found: LikeName | null = null;
  for (const bytes of entries) {
    if (!isUtf8(bytes)) {
      if (bytes.toString('utf8') === name || showNameBytes(bytes) === name) return { kind: 'bytes' };
      continue;
    }
    const entry = bytes.toString('utf8');
    if (entry !== name && normalizeDrawn(entry) === looked) {
      const isSame = entry.normalize('NFC') === name.normalize('NFC');
      if (found === null || isSame) found = { kind: 'alike', name: entry, isSame };
    }
  }
  return found;
}

/** Shows a name that is not UTF-8, with the invalid bytes as \xNN. */
export function showNameBytes(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8');
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let text = '';
  for (let at = 0; at < bytes.length;) {
    const whole = [1, 2, 3, 4].find((length) => at + length <= bytes.length && isUtf8(bytes.subarray(at, at + length)));
    text += whole
      ? decoder.decode(bytes.subarray(at, at + whole))
      : `\\x${(bytes[at] as number).toString(16).padStart(2, '0')}`;
    at += whole ?? 1;
  }
  return text;
}
