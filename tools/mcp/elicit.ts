// A server that asks people in the middle of a call (elicitation, L77): its form as one question,
// and the answer as the form wants it; or an address that they are to open.
import type { ElicitRequest, ElicitResult } from '@modelcontextprotocol/client';
import { reasonOf, clip, onOneLine } from '../../system/text.ts';
import type { AskPeople, PeopleQuestion } from '../people/ask-people.ts';
import { compileSchema, type JsonSchema } from '../../system/schema/json-schema.ts';
import { McpError } from './failures.ts';

/** Characters of the server's words, of one of a field, and of an address. */
const [LONGEST_MESSAGE, LONGEST_FIELD, LONGEST_URL] = [2_000, 300, 2_000];
const [MOST_OPTIONS, LONGEST_OPTION, MOST_FIELDS] = [20, 200, 30];
/** An answer that will not do is asked for again, so often. */
const MOST_TRIES = 10;

const [YES, NO] = ['yes', 'no'] as const;

/** The time of a call, which stands still while people are asked. */
export class CallClock {
  readonly #late = new AbortController();
  #left: number;
  #since = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #paused = 0;
  #isOver = false;

  constructor(ms: number) {
    this.#left = ms;
    this.#start();
  }

  /** Aborted with a McpError when the time is over. */
  get signal(): AbortSignal {
    return this.#late.signal;
  }

  async pause<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.#paused === 0) {
      clearTimeout(this.#timer);
      this.#left -= performance.now() - this.#since;
    }
    this.#paused += 1;
    try {
      return await work();
    } finally {
      this.#paused -= 1;
      if (this.#paused === 0 && !this.#isOver) this.#start();
    }
  }

  /** The call has ended, whoever is still asked. */
  stop(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  #start(): void {
    this.#since = performance.now();
    const late = (): void => this.#late.abort(new McpError('late', 'its time is over', undefined));
    this.#timer = setTimeout(late, Math.max(1, this.#left));
  }
}

type Form = {
  readonly question: string;
  readonly options?: readonly string[];
  /**
   * The content that an answer means; null: the person declines. Throws a sentence for what is no
   * answer.
   */
  readonly read: (text: string) => ElicitResult['content'] | null;
};

/**
 * `signal`: nobody waits for the answer any more. Throws a sentence for a form that nobody could
 * look over.
 */
export async function answerServer(
  server: string,
  asked: ElicitRequest['params'],
  askPeople: AskPeople,
  signal: AbortSignal,
): Promise<ElicitResult> {
  const form = 'requestedSchema' in asked ? formOf(asked.message, asked.requestedSchema) : visitOf(asked);
  const why = `the MCP server ${server} asks a question`;
  let problem = '';
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const question = `${problem}The MCP server ${server} asks: ${form.question}`;
    const put: PeopleQuestion = { why, question, ...(form.options && { options: form.options }) };
    const answer = await askPeople(put, signal);
    if (answer.kind !== 'answered') return { action: answer.kind === 'declined' ? 'decline' : 'cancel' };
    try {
      const content = form.read(answer.text.trim());
      return content === null ? { action: 'decline' } : { action: 'accept', ...(content && { content }) };
    } catch (error) {
      problem = `(The answer ${JSON.stringify(clip(answer.text, 100))} will not do: ${reasonOf(error)}.) `;
    }
  }
  return { action: 'cancel' };
}

type Schema = Extract<ElicitRequest['params'], { requestedSchema: unknown }>['requestedSchema'];

type Field = {
  readonly type?: string;
  readonly title?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly enumNames?: readonly string[];
  readonly oneOf?: Named;
  readonly items?: { readonly enum?: readonly string[]; readonly anyOf?: Named };
};

type Named = readonly { readonly const: string; readonly title?: string }[];

export function formOf(message: string, requested: Schema): Form {
  const words = clip(message, LONGEST_MESSAGE);
  const fields = Object.entries(requested.properties) as readonly (readonly [string, Field])[];
  if (fields.length > MOST_FIELDS)
    throw new Error(
      `it is refused: the form has ${fields.length} fields, and people are asked for ${MOST_FIELDS} at most`,
    );
  const check = checkOf(requested);
  const [first] = fields;
  if (!first) return { question: words, options: [YES, NO], read: (text) => (text === YES ? {} : null) };
  if (fields.length > 1 || first[1].type === 'array') return ofMany(words, fields, requested.required ?? [], check);
  const [name, field] = first;
  const question = `${words}\n${described(name, field)}`;
  const choices = choicesOf(field);
  const read = (value: unknown): ElicitResult['content'] => check({ [name]: value });
  if (choices) return { question, options: [...choices.keys()], read: (text) => read(choices.get(text)) };
  return { question, read: (text) => read(isNumber(field) && text !== '' ? Number(text) : text) };
}

/**
 * Nobody opens it but whoever is asked. The address stands there as a browser reads it, and first:
 * what the server says, however long, can neither push it out of sight nor look like it.
 */
function visitOf({ message, url }: { readonly message: string; readonly url: string }): Form {
  const { protocol, host, username, password, href } = new URL(url);
  if (!/^https?:$/.test(protocol) || href.length > LONGEST_URL || username + password !== '')
    throw new Error(
      `it is refused: people are shown web addresses of at most ${LONGEST_URL} characters, with no name or password in them`,
    );
  const says = onOneLine(clip(message, LONGEST_MESSAGE));
  const lines = [`You are to open this page of ${host} yourself:`, href, `It says: ${says}`];
  return { question: lines.join('\n'), options: [YES, NO], read: (text) => (text === YES ? undefined : null) };
}

function ofMany(
  message: string,
  fields: readonly (readonly [string, Field])[],
  required: readonly string[],
  check: (content: unknown) => ElicitResult['content'],
): Form {
  const lines = fields.map(([name, field]) => {
    const { items } = field;
    const listed = items?.anyOf ?? field.oneOf;
    const choices = items?.enum ?? field.enum ?? listed?.map((choice) => choice.const);
    const what = choices
      ? `${items ? 'a list of some of' : 'one of'} ${choices.map((choice) => JSON.stringify(choice)).join(', ')}`
      : (field.type ?? 'text');
    const about = `${what}${required.includes(name) ? '' : ', may be left out'}`;
    const words = [field.title, field.description].filter((text) => text).join(': ');
    return clip(`- ${name} (${about})${words === '' ? '' : `: ${words}`}`, LONGEST_FIELD);
  });
  const example = JSON.stringify(Object.fromEntries(fields.map(([name]) => [name, '…'])));
  return {
    question: [message, `Answer with JSON, as ${clip(example, LONGEST_FIELD)}:`, ...lines].join('\n'),
    read: (text) => check(parsed(text)),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('it is no JSON');
  }
}

const described = (name: string, { title, description }: Field): string =>
  clip([title ?? name, ...(description ? [description] : [])].join(': '), LONGEST_FIELD);

const isNumber = ({ type }: Field): boolean => type === 'number' || type === 'integer';

/** By what people are shown. Undefined: they write. */
function choicesOf(field: Field): ReadonlyMap<string, unknown> | undefined {
  if (field.type === 'boolean')
    return new Map([
      [YES, true],
      [NO, false],
    ]);
  const pairs = field.oneOf
    ? field.oneOf.map((choice) => [choice.title ?? choice.const, choice.const] as const)
    : (field.enum ?? []).map((value, at) => [field.enumNames?.[at] ?? value, value] as const);
  const choices = new Map(pairs);
  const fit = choices.size === pairs.length && pairs.length > 0 && pairs.length <= MOST_OPTIONS;
  return fit && pairs.every(([shown]) => shown.trim() === shown && shown !== '' && shown.length <= LONGEST_OPTION)
    ? choices
    : undefined;
}

/**
 * Throws a sentence for content that the form does not want. What a form has beside its fields
 * could make a check endless, as a pattern can.
 */
function checkOf({ type, properties, required = [] }: Schema): (content: unknown) => ElicitResult['content'] {
  // Words for what is offered, which no schema knows.
  const schema = JSON.stringify({ type, properties, required }, (key, value: unknown) =>
    key === 'enumNames' ? undefined : value,
  );
  let validate: ReturnType<typeof compileSchema> | null = null;
  return (content) => {
    validate ??= compileSchema(JSON.parse(schema) as JsonSchema);
    if (validate(content)) return content as ElicitResult['content'];
    const [error] = validate.errors ?? [];
    throw new Error(`${error?.instancePath.slice(1) || 'it'} ${error?.message ?? 'is not what is asked for'}`);
  };
}
