// Tells which tool results microcompaction shrinks, and what is shown in their place (L8).
import type { Outcome } from '../log/entries.ts';
import { entryName } from '../log/entry-names.ts';
import { resultName } from '../transcript/preview.ts';
import { shrunkResult } from './notices.ts';

/** Characters. A shorter result costs no more than its marker. */
const SHORTEST_SHRUNK = 200;

export function isShrunk({ content, media }: Outcome): boolean {
  return content.length >= SHORTEST_SHRUNK || media !== undefined;
}

/** Returns the marker of a shrunk result. `position` is that of the entry the outcome is in. */
export function shrunkMarker({ content, whole, media }: Outcome, position: number): string {
  const name = whole ? resultName(whole.hash) : entryName({ from: position, to: position + 1 });
  const text = shrunkResult(whole?.bytes ?? content.length, name);
  if (media === undefined) return text;
  const names = media.map(({ hash, mediaType }) => `${mediaType} at "${resultName(hash)}"`);
  return `${text} It came with ${names.join(', ')}.`;
}

/** Returns about the size of a result in a request. `bare` leaves out its images and documents. */
export function outcomeCharacters({ content, media = [] }: Outcome, bare = false): number {
  return bare ? content.length : media.reduce((sum, { characters }) => sum + characters, content.length);
}
