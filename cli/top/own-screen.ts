// The terminal's second screen: closing it shows the previous content again.
import type { Cli } from '../cli.ts';

export type OwnScreen = { draw(lines: readonly string[]): void; close(): void };

export function openOwnScreen(cli: Pick<Cli, 'print'>): OwnScreen {
  let isOpen = true;
  const close = (): void => {
    if (isOpen) cli.print('\u001b[?7h\u001b[?25h\u001b[?1049l');
    isOpen = false;
    process.off('exit', close);
  };
  // A signal leaves the server at once.
  process.on('exit', close);
  cli.print('\u001b[?1049h\u001b[?25l\u001b[?7l');
  return {
    // Do not wrap lines: the terminal cuts a long one.
    draw: (lines) => cli.print(`\u001b[H${lines.map((line) => `${line}\u001b[K`).join('\n')}\u001b[J`),
    close,
  };
}
