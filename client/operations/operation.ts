// An operation on a session, declared once. The client's method with its option check, the HTTP
// route with its entry in docs/openapi.v1.json, the key of a retry, and the texts of command and
// page all follow from its row.
// Shapes that the bodies of several operations have.
import { z } from 'zod';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { IMAGE_TYPES } from '../../workflows/contract/people.ts';
import { type OptionKind, RUN_OPTIONS } from '../../workflows/contract/run-options.ts';
import type { Abortable } from '../async.ts';
import { refuseUnknown } from '../options.ts';
import { ClientProblem } from '../problem.ts';
import type { ClientMeans } from '../sessions/client-means.ts';
import type { PersonRequest } from '../sessions/history/recent.ts';
import { parseSessionId } from '../sessions/ids.ts';
import type { Prompt } from '../sessions/prompt.ts';

/** The arguments and options of a method by their names. */
export type Fields = Readonly<Record<string, unknown>>;

/** `Request` has the method's arguments after the session, and its options, by name. */
type Row<Request, Result> = {
  /** The name of the client's method. */
  readonly name: string;
  /** A `call` is the method's first argument after the session, and a part of the path. */
  readonly target: 'session' | 'call';
  readonly role: 'decide' | 'steer';
  /** A sentence for the OpenAPI document. */
  readonly summary: string;
  /** The end of the path where it is not the name. */
  readonly path?: string;
  /** The HTTP status, 200 when absent. */
  readonly status?: 201 | 202;
  /** The body of an HTTP request. Its fields are options of the method, except those in `takes`. */
  readonly body: z.ZodObject;
  /** Fields that the method takes as arguments, in order. */
  readonly takes?: readonly (keyof Request & string)[];
  /** The argument that is the whole body. */
  readonly wraps?: keyof Request & string;
  /** Options that no body has, apart from `by` and `signal`. */
  readonly options?: readonly (keyof Request & string)[];
  /** The body of an HTTP answer where it is not the session, or the session and the call. */
  readonly answer?: z.ZodType;
  /** The sentence for people once the session has taken it; absent: the summary. */
  readonly done?: string;
  /** Returns a sentence that says what is wrong with the request in any session. */
  problemOf?(request: Request): string | undefined | Promise<string | undefined>;
  /** Names the part of the request that needs the role `steer`. */
  steeringIn?(request: Request): string | undefined;
  /** Throws ClientProblem. */
  run(means: ClientMeans, session: SessionId, request: Request): Promise<Result>;
  /** Turns the result into the HTTP answer, where it is not the answer itself. */
  answerOf?(result: Result): object;
  /** Recognizes an earlier try of the same request. Absent: `messageId` does, or nothing does. */
  isAppliedBy?(earlier: PersonRequest, request: Request): boolean;
};

export type Operation<Request = Fields, Result = unknown> = Row<Request, Result> & {
  /** Names of the method's arguments between the session and the options. */
  readonly parameters: readonly string[];
  /** The method's options. */
  readonly known: Fields;
  readonly done: string;
};

export function defineOperation<Request, Result = void>(row: Row<Request, Result>): Operation<Request, Result> {
  const { target, body, takes = [], wraps, options = [], done = row.summary } = row;
  const parameters = [...(target === 'call' ? ['call'] : []), ...takes, ...(wraps === undefined ? [] : [wraps])];
  const fields = wraps === undefined ? Object.keys(body.shape) : [];
  const names = [...fields.filter((name) => !parameters.includes(name)), ...options, 'by', 'signal'];
  return { ...row, done, parameters, known: Object.fromEntries(names.map((name) => [name, true])) };
}

/** Calls the client's method with a request. */
export function callMethod<Request extends Fields, Result>(
  client: Readonly<Partial<Record<string, unknown>>>,
  { name, parameters }: Operation<Request, Result>,
  session: string,
  request: NoInfer<Request>,
): Promise<Result> {
  const method = client[name] as (session: string, ...values: readonly unknown[]) => Promise<Result>;
  const options = Object.entries(request).filter(([field]) => !parameters.includes(field));
  return method(session, ...parameters.map((field) => request[field]), Object.fromEntries(options));
}

/** Checks the options of a method and runs it until its signal aborts. */
export type Wait = <T>(
  method: string,
  options: Abortable | undefined,
  known: object,
  work: () => Promise<T>,
) => Promise<T>;

/** Makes the client's method. */
export function methodOf(operation: Operation, means: ClientMeans, wait: Wait) {
  const { name, parameters, wraps, body, known } = operation;
  return (id: string, ...values: readonly unknown[]): Promise<unknown> => {
    const options = values[parameters.length] as Abortable | undefined;
    return wait(`${name}()`, options, known, async () => {
      const request: Fields = { ...options, ...Object.fromEntries(parameters.map((each, at) => [each, values[at]])) };
      if (wraps !== undefined) refuseUnknown(`${name}()`, request[wraps], body.shape);
      const session = parseSessionId(id);
      const problem = await operation.problemOf?.(request);
      if (problem !== undefined) throw new ClientProblem('refused', problem);
      return operation.run(means, session, request);
    });
  };
}

export const text = z.string();
export const count = z.int().nonnegative();
export const list = z.array(text).readonly();
export const nothing = z.strictObject({});
export const sent = z.looseObject({ session: text, messageId: text });

const image = z.strictObject({ type: z.literal('base64'), media_type: z.enum(IMAGE_TYPES), data: text });
const document = z.strictObject({ type: z.literal('base64'), media_type: z.literal('application/pdf'), data: text });
const textDocument = z.strictObject({
  type: z.literal('document'),
  source: z.strictObject({ type: z.literal('text'), media_type: z.literal('text/plain'), data: text }),
  title: text.optional(),
  context: text.optional(),
});
export const prompt: z.ZodType<Prompt> = z.union([
  text,
  z
    .array(
      z.union([
        z.strictObject({ type: z.literal('text'), text }),
        z.strictObject({ type: z.literal('image'), source: image }),
        z.strictObject({ type: z.literal('document'), source: document }),
        textDocument,
      ]),
    )
    .readonly(),
]);

const serverTool = z.looseObject({ enabled: z.boolean(), policy: z.enum(['always_allow', 'always_ask', 'auto']) });

/** The client checks the bounds of all options, so their fields have types only. */
const shapesOfKinds: Readonly<Record<OptionKind, z.ZodType>> = {
  choice: text,
  folder: text,
  folders: list,
  list,
  mounts: z.array(z.looseObject({ path: text, access: z.enum(['read_only', 'read_write']) })),
  names: list,
  number: z.number(),
  pairs: z.record(text, text),
  roster: z.array(
    z.looseObject({ name: text, description: text, model: text, tools: list, permissions: z.looseObject({}) }),
  ),
  rules: z.strictObject({ allow: list.optional(), deny: list.optional(), ask: list.optional() }),
  schema: z.record(text, z.unknown()),
  servers: z.array(z.looseObject({ name: text, url: text, config: serverTool, tools: z.record(text, serverTool) })),
  switch: z.boolean(),
  text,
  time: z.number(),
  tools: z.array(z.looseObject({ by: text, name: text, description: text, input_schema: z.record(text, z.unknown()) })),
};
const optionFields = Object.entries(RUN_OPTIONS).map(([name, { kind, says, values }]): [string, z.ZodType] => {
  const value = values ? z.enum(values) : shapesOfKinds[kind];
  const more = { folder: '; an absolute path on the machine that works', time: ', in milliseconds' };
  const about = `${says}${kind === 'folder' || kind === 'time' ? more[kind] : ''}`;
  // The workspace alone cannot be taken back.
  return [name, (name === 'cwd' ? value.optional() : value.nullish()).describe(about)];
});

/** The client refuses unknown names and suggests the one that was meant. */
export const optionsShape = z
  .looseObject(Object.fromEntries(optionFields))
  .describe('options of a run, as docs/client.md lists them; null takes one back');

export const forkedFrom = z.looseObject({
  session: text,
  position: count.describe('the first entry of that session that this one does not have'),
});
export const changedFile = z.looseObject({
  root: text.describe('the folder of the session in which it lies'),
  path: text,
  kind: z.enum(['added', 'changed', 'deleted']),
  insertions: count.nullable().describe('lines; null: it is not text'),
  deletions: count.nullable(),
});
