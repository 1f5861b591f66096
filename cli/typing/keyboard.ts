// Reads the terminal key by key, without echo and with marks around pasted text. It restores the
// terminal however the process ends.
import { emitKeypressEvents } from 'node:readline';
import type { Keyboard } from './input.ts';

type Terminal = {
  readonly stdin: Pick<NodeJS.ReadStream, 'on' | 'off' | 'pause' | 'resume' | 'setRawMode'>;
  readonly write: (text: string) => unknown;
};

const PASTE_ON = '\u001b[?2004h';
const PASTE_OFF = '\u001b[?2004l';

export function openKeyboard({ stdin, write }: Terminal): Keyboard {
  let stop: (() => void) | null = null;
  return {
    start: (onKey) => {
      if (stop) return;
      emitKeypressEvents(stdin as NodeJS.ReadStream);
      const end = (): void => {
        process.off('exit', end);
        stdin.off('keypress', onKey);
        stdin.setRawMode(false);
        stdin.pause();
        write(PASTE_OFF);
        stop = null;
      };
      stop = end;
      process.on('exit', end);
      stdin.on('keypress', onKey);
      stdin.setRawMode(true);
      stdin.resume();
      write(PASTE_ON);
    },
    stop: () => stop?.(),
  };
}
