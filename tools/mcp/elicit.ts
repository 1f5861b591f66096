// Puts a question that a server asks in the middle of a call to people (elicitation, L77): its form
// as one question, and the answer as the form wants it; or an address that they are to open.
import type { ElicitRequest, ElicitResult } from '@modelcontextprotocol/client';
import { reasonOf, clip, onOneLine } from '../../system/text.ts';
import type { AskPeople, PeopleQuestion } from '../people/ask-people.ts';
import { compileSchema, type JsonSchema } from '../../system/schema/json-schema.ts';

/** Characters of the server's words, of one of a field, and of an address. */
const LONGEST_MESSAGE = 2_000;
const LONGEST_FIELD = 300;
const LONGEST_URL = 2_000;
const MOST_OPTIONS = 20;
const LONGEST_OPTION = 200;
const MOST_FIELDS = 30;
/** The number of times that an unusable answer is asked for again. */
const MOST_TRIES = 10;

const YES = 'yes';
const NO = 'no';

type Form = {
  readonly question: string;
  readonly options?: readonly string[];
  /**
   * Reads the content that an answer means; null: the person declines. Throws a sentence for a text
   * that is not an answer.
   */
  readonly read: (text: string) => ElicitResult['content'] | null;
};

/**
 * Puts the question to people. `signal` is aborted when the answer is no longer waited for. Throws
 * a sentence for a form that no person could look over.
 */
export async function answerServer(
  server: string,
  request: ElicitRequest['params'],
  askPeople: AskPeople,
  signal: AbortSignal,
): Promise<ElicitResult> {
  const form = 'requestedSchema' in request ? buildForm(request.message, request.requestedSchema) : buildVisit(request);
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
  readonly oneOf?: NamedChoices;
  readonly items?: { readonly enum?: readonly string[]; readonly anyOf?: NamedChoices };
};

type NamedChoices = readonly { readonly const: string; readonly title?: string }[];

export function buildForm(message: string, requested: Schema): Form {
  const words = clip(message, LONGEST_MESSAGE);
  const fields = Object.entries(requested.properties) as readonly (readonly [string, Field])[];
  if (fields.length > MOST_FIELDS)
    throw new Error(
      `it is refused: the form has ${fields.length} fields, and people are asked for ${MOST_FIELDS} at most`,
    );
  const check = createCheck(requested);
  const [first] = fields;
  if (!first) return { question: words, options: [YES, NO], read: (text) => (text === YES ? {} : null) };
  if (fields.length > 1 || first[1].type === 'array')
    return buildManyFields(words, fields, requested.required ?? [], check);
  const [name, field] = first;
  const question = `${words}\n${describeField(name, field)}`;
  const choices = listChoices(field);
  const read = (value: unknown): ElicitResult['content'] => check({ [name]: value });
  if (choices) return { question, options: [...choices.keys()], read: (text) => read(choices.get(text)) };
  return { question, read: (text) => read(isNumber(field) && text !== '' ? Number(text) : text) };
}

/**
 * Words a page to open, which only the person who is asked opens. The address stands there as a
 * browser reads it, and first: the server's words, however long, can neither push it out of sight
 * nor look like it.
 */
function buildVisit({ message, url }: { readonly message: string; readonly url: string }): Form {
  const { protocol, host, username, password, href } = new URL(url);
  if (!/^https?:$/.test(protocol) || href.length > LONGEST_URL || username + password !== '')
    throw new Error(
      `it is refused: people are shown web addresses of at most ${LONGEST_URL} characters, with no name or password in them`,
    );
  const says = onOneLine(clip(message, LONGEST_MESSAGE));
  const lines = [`You are to open this page of ${host} yourself:`, href, `It says: ${says}`];
  return { question: lines.join('\n'), options: [YES, NO], read: (text) => (text === YES ? undefined : null) };
}

function buildManyFields(
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
    read: (text) => check(parseAnswer(text)),
  };
}

function parseAnswer(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('it is no JSON');
  }
}

const describeField = (name: string, { title, description }: Field): string =>
  clip([title ?? name, ...(description ? [description] : [])].join(': '), LONGEST_FIELD);

const isNumber = ({ type }: Field): boolean => type === 'number' || type === 'integer';

/** Returns the values by the words that people are shown. Undefined: they write. */
function listChoices(field: Field): ReadonlyMap<string, unknown> | undefined {
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
  return fit && pairs.every(([label]) => label.trim() === label && label !== '' && label.length <= LONGEST_OPTION)
    ? choices
    : undefined;
}

/**
 * Makes a check. Throws a sentence for content that the form does not want. Only the fields are
 * checked: other parts of a form, such as a pattern, could make a check endless.
 */
function createCheck({ type, properties, required = [] }: Schema): (content: unknown) => ElicitResult['content'] {
  // Words for the offered values are unknown to schemas.
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
