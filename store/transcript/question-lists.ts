// Turns a list of questions, as other SDKs have their models ask them, into the one question of
// `ask_user`, and back: a person reads the text as it stands, and a program gets the list again.
type Choice = { readonly label: string; readonly description: string };

export type ListedQuestion = {
  readonly question: string;
  readonly header: string;
  readonly options: readonly Choice[];
  readonly multiSelect: boolean;
};

type Fields = Readonly<Record<string, unknown>>;

const ANY = ' (choose any)';
const BETWEEN = ' — ';

/**
 * Returns the input of `ask_user`. One question from whose options one is chosen keeps them as
 * options. Returns null for a list that has no questions.
 */
export function joinQuestions(
  list: unknown,
): { readonly question: string; readonly options?: readonly string[] } | null {
  if (!Array.isArray(list) || list.length === 0) return null;
  const questions = list.map(readQuestion);
  if (!questions.every((each) => each !== null)) return null;
  const [only, ...more] = questions;
  if (only === undefined) return null;
  if (more.length > 0)
    return { question: questions.map((each, at) => `${at + 1}. ${writeQuestion(each)}`).join('\n\n') };
  const labels = only.options.map(({ label }) => label);
  const isChoice = !only.multiSelect && labels.length > 1;
  // Options without descriptions need no lines of their own.
  const bare = isChoice && only.options.every(({ description }) => description === '');
  return { question: writeQuestion(bare ? { ...only, options: [] } : only), ...(isChoice && { options: labels }) };
}

/** Reverses `joinQuestions`. Any other question becomes a list of one. */
export function splitQuestions({ question, options }: Fields): readonly ListedQuestion[] {
  const text = typeof question === 'string' ? question : '';
  const parts = text.split(/\n\n(?=\d+\. )/);
  const isList = parts.length > 1 && parts.every((part, at) => part.startsWith(`${at + 1}. `));
  const labels = Array.isArray(options) ? options.map(String) : [];
  return isList ? parts.map((part) => parseQuestion(part.replace(/^\d+\. /, ''), [])) : [parseQuestion(text, labels)];
}

function parseQuestion(text: string, labels: readonly string[]): ListedQuestion {
  const [first = '', ...lines] = text.split('\n');
  const from = lines.findIndex((_, at) => lines.slice(at).every((line) => line.startsWith('- ')));
  const described = from < 0 ? [] : lines.slice(from).map(parseChoice);
  const isTheirs = labels.length === 0 || described.map(({ label }) => label).join('\n') === labels.join('\n');
  const choices = isTheirs && described.length > 0 ? described : null;
  const words = choices ? [first, ...lines.slice(0, from)].join('\n') : text;
  const multiSelect = words.endsWith(ANY);
  const prompt = multiSelect ? words.slice(0, -ANY.length) : words;
  const [whole, header] = /^\[([^\]\n]{1,40})\] (?=.)/.exec(prompt) ?? ['', ''];
  return {
    question: prompt.slice(whole.length),
    header: header ?? '',
    options: choices ?? labels.map((label) => ({ label, description: '' })),
    multiSelect,
  };
}

function parseChoice(line: string): Choice {
  const [label = '', ...description] = line.slice(2).split(BETWEEN);
  return { label, description: description.join(BETWEEN) };
}

function writeQuestion({ question, header, options, multiSelect }: ListedQuestion): string {
  const lines = options.map(({ label, description }) => `- ${label}${description === '' ? '' : BETWEEN + description}`);
  return [`${header === '' ? '' : `[${header}] `}${question}${multiSelect ? ANY : ''}`, ...lines].join('\n');
}

function readQuestion(value: unknown): ListedQuestion | null {
  const { question, header = '', options = [], multiSelect } = (value ?? {}) as Fields;
  if (typeof question !== 'string' || !Array.isArray(options)) return null;
  return {
    question: question.trim(),
    header: onOneLine(header),
    options: options.map(readChoice),
    multiSelect: multiSelect === true,
  };
}

function readChoice(value: unknown): Choice {
  if (typeof value === 'string') return { label: onOneLine(value), description: '' };
  const { label, description } = (value ?? {}) as Fields;
  return { label: onOneLine(label), description: onOneLine(description) };
}

function onOneLine(text: unknown): string {
  return typeof text === 'string' ? text.replaceAll(/\s+/g, ' ').trim() : '';
}
