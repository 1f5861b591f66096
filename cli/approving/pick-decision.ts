// Asks for a decision with one key. The answer is a line as a person could have typed it, so that
// both ways of deciding have one meaning.
// Takes a person's answer to a question of the model (L81), and reads the input of a call as a
// person writes it: one JSON object.
import { ruleFor, rulesFor } from '../../client/faces/rules.ts';
import { answerProblem } from '../../client/faces/sessions.ts';
import { oneLine } from '../../client/faces/start.ts';
import type { PerdureClient, WaitingApproval } from '../../client/faces/types.ts';
import { areNumbered, ofAgent, parseQuestion } from '../../client/faces/words.ts';
import { UsageError } from '../errors.ts';
import type { Input } from '../typing/input.ts';

type Asking = Required<Pick<Input, 'ask' | 'pick'>>;

/** More options than this have no number of one key. */
const MOST_OPTIONS = 9;
const ANOTHER = 'another rule';
/** Lines that cannot be typed. */
const BACK = '\u001b';
/** Decides nothing: the call waits on. */
export const LATER = '\u001blater';

type Picking = { readonly approval: WaitingApproval; readonly signal: AbortSignal };

/**
 * Returns null when the question is gone or typing has ended, LATER when it is left, and an empty
 * line to be asked again.
 */
export function pickDecision(input: Asking, picking: Picking): Promise<string | null> {
  return picking.approval.question ? pickAnswer(input, picking) : pickForCall(input, picking);
}

const leaving = { answer: LATER, words: 'leave it for later  (Esc)', keys: ['l'] } as const;

const KINDS: Readonly<Record<string, string>> = {
  edit: 'this edit',
  write: 'this file to be written',
  bash: 'this command',
};

async function pickForCall(input: Asking, { approval, signal }: Picking): Promise<string | null> {
  const { tool, reason } = approval;
  const [narrow] = rulesToPick(approval);
  const always = narrow === undefined ? 'yes, and choose a rule for others' : 'yes, and not again for …';
  const what = KINDS[tool] ?? oneLine(tool, 60);
  const answer = await input.pick(
    {
      heading: `Allow ${what}${ofAgent(approval)}?  ${oneLine(reason, 200)}`,
      options: [
        { answer: 'y', words: 'yes', keys: ['y'] },
        { answer: 'a', words: `${always}${narrow === undefined ? '' : ` ${oneLine(narrow, 100)}`}`, keys: ['a'] },
        { answer: 'why', words: 'no, and tell it why' },
        { answer: 'e', words: 'edit it first', keys: ['e'] },
        { answer: 'n', words: 'no  (n)', keys: ['n'] },
        { answer: 'i', words: 'no, and stop the run  (i)', keys: ['i'] },
        leaving,
      ],
      escape: LATER,
    },
    signal,
  );
  if (answer === 'a') return pickRule(input, approval, signal);
  if (answer !== 'why') return answer;
  const why = await input.ask('why not (Enter: no reason, Esc: back): ', signal, BACK);
  if (why === BACK) return '';
  return why === null ? null : `n ${why}`;
}

async function pickRule(input: Asking, approval: WaitingApproval, signal: AbortSignal): Promise<string | null> {
  const rules = rulesToPick(approval);
  const [first] = rules;
  if (first === undefined) return 'a';
  const options = rules.map((rule, at) => ({
    answer: rule,
    words: oneLine(rule, 200),
    ...(at === 0 && { keys: ['y', 'a'] }),
  }));
  const answer = await input.pick(
    {
      heading: 'Yes, and not again while this terminal follows, for:',
      options: [...options, { answer: ANOTHER, words: 'another rule …' }, { answer: '', words: 'back  (Esc)' }],
      escape: '',
    },
    signal,
  );
  if (answer === null || answer === '') return answer;
  if (answer !== ANOTHER) return `a ${answer}`;
  const typed = await input.ask(`which rule, such as ${oneLine(first, 100)} (Enter or Esc: back): `, signal, '');
  return typed === null || typed.trim() === '' ? typed : `a ${typed}`;
}

/**
 * Returns rules that cover the call, from narrow to wide; none where no narrow one can be proposed.
 * A command gets no wider rule than its own.
 */
function rulesToPick(approval: WaitingApproval): readonly string[] {
  const narrow = ruleFor(approval);
  if (narrow === null) return [];
  return approval.tool === 'edit' || approval.tool === 'write' ? rulesFor(approval) : [narrow];
}

/** Tells whether a question of the model is answered with one key. */
export function isPicked({ input }: Pick<WaitingApproval, 'input'>): boolean {
  const { options } = parseQuestion(input);
  return options.length > 0 && options.length <= MOST_OPTIONS && areNumbered(options);
}

async function pickAnswer(input: Asking, { approval: question, signal }: Picking): Promise<string | null> {
  if (!isPicked(question)) return input.ask('your answer (Esc: later): ', signal, LATER);
  const options = parseQuestion(question.input).options.map((option) => ({ answer: option, words: option }));
  const heading = 'Which one?';
  return input.pick({ heading, options: [...options, leaving], escape: LATER }, signal);
}

type Person = { readonly sessions: Pick<PerdureClient, 'answer'> };

/** Sends the answer. Throws UsageError for a text that cannot be one. */
export async function answerFromLine({ sessions }: Person, question: WaitingApproval, line: string): Promise<void> {
  const { session, call, input } = question;
  const text = chooseAnswer(input, line);
  const problem = answerProblem(text);
  if (problem !== undefined) throw new UsageError(problem);
  await sessions.answer(session, call, text);
}

/**
 * Returns the option that a number means, unless options are numbers themselves, or the text.
 * Throws UsageError for an answer that is not offered.
 */
export function chooseAnswer(input: unknown, answer: string): string {
  const { options } = parseQuestion(input);
  const text = answer.trim();
  if (options.length === 0 || options.includes(text)) return text;
  const numbered = areNumbered(options);
  const option = numbered && /^\d+$/.test(text) ? options[Number(text) - 1] : undefined;
  if (option !== undefined) return option;
  const what = text === '' ? 'an empty answer' : oneLine(text, 80);
  const wanted = numbered ? `a number from 1 to ${options.length}` : 'one of the options, as it is written';
  throw new UsageError(`${what} is not offered: give ${wanted}`);
}

/** Reads the input of a call, one JSON object. Throws UsageError. */
export function parseCallInput(text: string): Readonly<Record<string, unknown>> {
  const value = parseJson(text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new UsageError(`the input ${oneLine(text, 80)} is not a JSON object: write it as {"name": "value"}`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const why = error instanceof SyntaxError ? error.message : String(error);
    throw new UsageError(`the input is not JSON: ${oneLine(why, 200)}`);
  }
}
