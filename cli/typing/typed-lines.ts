// Reads what a person types on a terminal without colours, or one that cannot be drawn on: whole
// lines, with the terminal's own echo.
import { createInterface } from 'node:readline';
import type { Hands, Input } from './input.ts';

/** Milliseconds. Lines typed before the question arrive at once and must not answer it. */
const EARLY_MS = 150;
/** The same for a line that was meant for a question which was decided elsewhere. */
const REPLACED_MS = 1_000;
/**
 * Milliseconds within which another line makes a line part of a paste, which answers nothing: no
 * mark tells of one here, and nobody types so fast.
 */
const PASTE_MS = 100;

type TypedLines = {
  readonly stdin: NodeJS.ReadableStream;
  readonly write: (text: string) => unknown;
  readonly style: (question: string) => string;
  readonly runEditor: (text: string) => Promise<string | null>;
};

type Question = {
  readonly words: string;
  readonly answer: (line: string | null) => void;
  /** It follows one that went without an answer. */
  readonly replaces: boolean;
  listening: boolean;
};

export function readTypedLines({ stdin, write, style, runEditor }: TypedLines, hands: Hands): Input {
  const lines = createInterface({ input: stdin, terminal: false });
  let question: Question | null = null;
  let over = false;
  let goneAt = 0;
  const answering = holdLines((batch) => {
    const [line = ''] = batch;
    if (batch.length === 1) question?.answer(line);
    else if (question) write(`(not taken: pasted text answers no question)\n${style(question.words)}`);
  });
  lines.on('line', (line) => {
    if (question?.listening || answering.holds) answering.add(line);
    else if (question?.replaces)
      write(`(not taken: the question before was decided elsewhere)\n${style(question.words)}`);
    else if (line.trim() !== '') hands.submit(line, false);
  });
  lines.once('close', () => {
    if (over) return;
    over = true;
    answering.end();
    question?.answer(null);
    hands.leave();
  });
  return {
    ask: (words, signal) => {
      if (signal.aborted || over) return Promise.resolve(null);
      write(style(words));
      return new Promise((resolve) => {
        const answer = (line: string | null): void => {
          signal.removeEventListener('abort', stop);
          if (question === pending) question = null;
          resolve(line);
        };
        const replaces = Date.now() - goneAt < REPLACED_MS;
        const pending: Question = { words, answer, replaces, listening: false };
        const stop = (): void => {
          answering.drop();
          write('\n');
          goneAt = Date.now();
          answer(null);
        };
        question = pending;
        // Timers run before input: waiting lines are read between the two.
        setTimeout(() => setImmediate(() => (pending.listening = true)), replaces ? REPLACED_MS : EARLY_MS);
        signal.addEventListener('abort', stop, { once: true });
      });
    },
    edit: (text) => {
      lines.pause();
      return runEditor(text).finally(() => void (over || lines.resume()));
    },
    close: () => {
      over = true;
      answering.drop();
      lines.close();
      question?.answer(null);
      return '';
    },
  };
}

type HeldLines = { readonly holds: boolean; add(line: string): void; end(): void; drop(): void };

/** Holds lines until none has come for a moment, and passes on those that came together. */
function holdLines(pass: (lines: readonly string[]) => void): HeldLines {
  let buffer: string[] = [];
  let timer: NodeJS.Timeout | undefined;
  const take = (): readonly string[] => {
    clearTimeout(timer);
    const batch = buffer;
    buffer = [];
    return batch;
  };
  const end = (): void => {
    const batch = take();
    if (batch.length > 0) pass(batch);
  };
  return {
    get holds() {
      return buffer.length > 0;
    },
    add: (line) => {
      buffer.push(line);
      clearTimeout(timer);
      // Timers run before input: a line that has arrived by then is read first.
      const count = buffer.length;
      timer = setTimeout(() => setImmediate(() => void (buffer.length === count && end())), PASTE_MS);
    },
    end,
    drop: () => void take(),
  };
}
