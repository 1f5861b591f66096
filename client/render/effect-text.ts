// Describes, in one line, a call whose effect stays when its session goes back.
import { oneLine } from '../paint.ts';
import type { LeftEffect } from '../sessions/files/plan-rewind.ts';

export function effectText({ name, input, outcome }: LeftEffect): string {
  const { command } = (input ?? {}) as { readonly command?: unknown };
  const words = typeof command === 'string' ? command : JSON.stringify(input);
  return `${oneLine(`${name} ${words}`, 160)}${outcome === 'ok' ? '' : ` (${outcome})`}`;
}
