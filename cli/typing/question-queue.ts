// Questions to the person at a terminal, one at a time. A key counts for the question that could be
// read when it was typed: a question appears only while nothing is being typed, takes no key at
// once, and takes none for a second when it stands in the place of one that went. A letter that
// means nothing there begins a text that was meant for something else.
import type { Editor, KeyPress } from './line-editor.ts';
import { type Menu, NEW_PICK, type Picker, type PickerState } from './picker.ts';

type LineQuestion = {
  readonly kind: 'line';
  readonly words: string;
  /** The answer that Escape gives. */
  readonly escape: string | undefined;
  editor: Editor;
};
export type MenuQuestion = { readonly kind: 'menu'; readonly menu: Menu; at: number };
export type PickQuestion = {
  readonly kind: 'pick';
  readonly picker: Picker;
  state: PickerState;
  /** Rows about items by their answer; null while they are read. */
  readonly previews: Map<string, readonly string[] | null>;
};
type Question = LineQuestion | MenuQuestion | PickQuestion;

export const newPick = (picker: Picker): PickQuestion => ({
  kind: 'pick',
  picker,
  state: NEW_PICK,
  previews: new Map(),
});

/**
 * Milliseconds without a key before a question appears: keys on their way were meant for something
 * else.
 */
const QUIET_MS = 400;
/** Milliseconds that a question of one key is shown before it takes keys. */
const SETTLE_MS = 300;
/** The same for a question that follows one that went without an answer. */
const REPLACED_MS = 1_000;
/** Keys with Ctrl that mean the same while a menu is open: they answer nothing. */
const ACTS_IN_MENU = new Set(['c', 'd', 'z', 'l', 'o']);

export const isActInMenu = ({ name = '', ctrl = false }: KeyPress): boolean => ctrl && ACTS_IN_MENU.has(name);

type QueuePlace = {
  /** Tells whether the row is empty. */
  readonly isFree: () => boolean;
  readonly draw: () => void;
};

type Asked = { readonly question: Question; readonly answer: (line: string | null) => void };

export class QuestionQueue {
  readonly #place: QueuePlace;
  readonly #waiting: Asked[] = [];
  #shown: Asked | null = null;
  #isSettled = true;
  #isReplacing = false;
  #isStray = false;
  #lastKey = 0;
  /** When a question went last without an answer. */
  #goneAt = 0;
  #isClosed = false;
  #wake: NodeJS.Timeout | undefined;

  constructor(place: QueuePlace) {
    this.#place = place;
  }

  /** The question that is shown. */
  get shown(): Question | null {
    return this.#shown?.question ?? null;
  }

  /** False while the shown question does not take keys yet. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  get hasWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** Waits for its turn and for an empty row, then shows the question. */
  put(question: Question, signal: AbortSignal): Promise<string | null> {
    if (signal.aborted || this.#isClosed) return Promise.resolve(null);
    return new Promise((resolve) => {
      const withdraw = (): void => this.#withdraw(entry);
      const answer = (line: string | null): void => {
        signal.removeEventListener('abort', withdraw);
        resolve(line);
      };
      const entry: Asked = { question, answer };
      signal.addEventListener('abort', withdraw, { once: true });
      this.#waiting.push(entry);
      this.look();
      this.#place.draw();
    });
  }

  answer(line: string | null): void {
    const answered = this.#shown;
    this.#shown = null;
    answered?.answer(line);
    this.#place.draw();
    this.look();
  }

  /** Shows the next question as soon as nothing is being typed. */
  look(): void {
    if (this.#shown || this.#isClosed) return;
    clearTimeout(this.#wake);
    const [next] = this.#waiting;
    if (!next || !this.#place.isFree()) return;
    const quiet = Date.now() - this.#lastKey;
    if (quiet < QUIET_MS && !isOwn(next.question)) {
      this.#wake = setTimeout(() => this.look(), QUIET_MS - quiet);
      return;
    }
    this.#waiting.shift();
    this.#show(next);
  }

  /**
   * Takes note of a key. Returns false when it was meant for a question that is gone. A key that
   * was typed before the shown question could be read makes that question wait again.
   */
  admits(key: KeyPress): boolean {
    this.#lastKey = Date.now();
    if (isActInMenu(key)) return true;
    if (this.#shown === null) return key.name !== 'escape' || this.#lastKey - this.#goneAt >= REPLACED_MS;
    if (this.#isSettled) return true;
    if (this.#isStray) return (this.stray(), false);
    if (this.#isReplacing) return false;
    clearTimeout(this.#wake);
    this.#waiting.unshift(this.#shown);
    this.#shown = null;
    return true;
  }

  /**
   * A key meant nothing to the shown menu: it takes none until as long has passed as at its begin,
   * so that no letter of a text answers it.
   */
  stray(): void {
    this.#isStray = true;
    this.#isSettled = false;
    clearTimeout(this.#wake);
    this.#settleAfter(SETTLE_MS);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#wake);
    this.#shown?.answer(null);
    this.#shown = null;
  }

  #show(entry: Asked): void {
    const { kind } = entry.question;
    this.#shown = entry;
    this.#isReplacing = !isOwn(entry.question) && Date.now() - this.#goneAt < REPLACED_MS;
    this.#isSettled = !this.#isReplacing && (kind === 'line' || isOwn(entry.question));
    this.#isStray = false;
    if (!this.#isSettled) this.#settleAfter(this.#isReplacing ? REPLACED_MS : SETTLE_MS);
    this.#place.draw();
  }

  #settleAfter(ms: number): void {
    const entry = this.#shown;
    const settle = (): void => {
      if (this.#shown !== entry || this.#wake !== wake) return;
      this.#isSettled = true;
      this.#isStray = false;
      this.#place.draw();
    };
    // Timers run before input: keys that came in the meantime are read between the two.
    const wake = setTimeout(() => setImmediate(settle), ms);
    this.#wake = wake;
  }

  #withdraw(entry: Asked): void {
    const at = this.#waiting.indexOf(entry);
    if (at >= 0) this.#waiting.splice(at, 1);
    if (entry === this.#shown) {
      this.#shown = null;
      this.#goneAt = Date.now();
    }
    entry.answer(null);
    this.#place.draw();
    this.look();
  }
}

/** Tells whether the person has just asked for the question. */
function isOwn(question: Question): boolean {
  return question.kind === 'pick' || (question.kind === 'menu' && question.menu.isOwn === true);
}
