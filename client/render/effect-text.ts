// Describes, in one line, a call whose effect stays when its session goes back.
import { oneLine } from '../paint.ts';
import type { RemainingEffect } from '../sessions/files/left-effects.ts';

export function effectText({ name, input, outcome }: RemainingEffect): string {
  const { command, path } = (input ?? {}) as { readonly command?: unknown; readonly path?: unknown };
  const words = [command, path].find((word) => typeof word === 'string') ?? JSON.stringify(input);
  return `${oneLine(`${name} ${words}`, 160)}${outcome === 'ok' ? '' : ` (${outcome})`}`;
}
