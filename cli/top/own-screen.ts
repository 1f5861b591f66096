// The terminal's second screen: closing it shows the previous content again.
import type { Cli } from '../cli.ts';

export type OwnScreen = {
  draw(lines: readonly string[]): void;
  /** Shows the first screen while `act` runs. */
  outside(act: () => Promise<void>): Promise<void>;
  close(): void;
};

const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l';
const LEAVE = '\u001b[?7h\u001b[?25h\u001b[?1049l';

export function openOwnScreen(cli: Pick<Cli, 'print'>): OwnScreen {
  let isShown = false;
  const enter = (): void => {
    cli.print(ENTER);
    isShown = true;
  };
  const leave = (): void => {
    if (isShown) cli.print(LEAVE);
    isShown = false;
  };
  // A signal leaves the server at once.
  process.on('exit', leave);
  enter();
  return {
    // Do not wrap lines: the terminal cuts a long one.
    draw: (lines) =>
      void (isShown && cli.print(`\u001b[H${lines.map((line) => `${line}\u001b[K`).join('\n')}\u001b[J`)),
    outside: async (act) => {
      leave();
      await act().finally(enter);
    },
    close: () => {
      leave();
      process.off('exit', leave);
    },
  };
}
