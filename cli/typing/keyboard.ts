// Reads the terminal key by key, without echo and with marks around pasted text. It restores the
// terminal however the process ends.
import { EventEmitter } from 'node:events';
import { emitKeypressEvents } from 'node:readline';
import { StringDecoder } from 'node:string_decoder';
import type { Keyboard } from './input.ts';
import { pasteSplitter } from './split-pastes.ts';

type Terminal = {
  readonly stdin: Pick<NodeJS.ReadStream, 'on' | 'off' | 'pause' | 'resume' | 'setRawMode'>;
  readonly write: (text: string) => unknown;
};

const ESCAPE = '\u001b';
/** Milliseconds after which an Escape is a key of its own and not the beginning of another. */
const ESCAPE_MS = 60;
const PASTE_ON = '\u001b[?2004h';
const PASTE_OFF = '\u001b[?2004l';

export function openKeyboard({ stdin, write }: Terminal): Keyboard {
  let stop: (() => void) | null = null;
  return {
    start: (onKey) => {
      if (stop) return;
      const keys = new EventEmitter();
      emitKeypressEvents(keys as NodeJS.ReadStream);
      keys.on('keypress', onKey);
      const decoder = new StringDecoder('utf8');
      const split = pasteSplitter();
      let lone: NodeJS.Timeout | undefined;
      const take = (bytes: Buffer): void => {
        const isHeld = lone !== undefined;
        clearTimeout(lone);
        lone = undefined;
        const given = (isHeld ? ESCAPE : '') + decoder.write(bytes);
        if (given === ESCAPE && !isHeld) {
          lone = setTimeout(() => {
            lone = undefined;
            onKey(undefined, { name: 'escape' });
          }, ESCAPE_MS);
          return;
        }
        if (given === ESCAPE + ESCAPE) {
          for (const name of ['escape', 'escape']) onKey(undefined, { name });
          return;
        }
        for (const { kind, text } of split(given)) {
          if (kind === 'paste') onKey(text, { name: 'paste' });
          else keys.emit('data', text);
        }
      };
      const end = (): void => {
        process.off('exit', end);
        clearTimeout(lone);
        stdin.off('data', take);
        stdin.setRawMode(false);
        stdin.pause();
        write(PASTE_OFF);
        stop = null;
      };
      stop = end;
      process.on('exit', end);
      stdin.on('data', take);
      stdin.setRawMode(true);
      stdin.resume();
      write(PASTE_ON);
    },
    stop: () => stop?.(),
  };
}
