// The toolset `agent_toolset_20260401` of Managed Agents (G51): its names and inputs, and behind
// them the built-in tools, with their rules, bounds and recovery. Hooks, watchers and rules see the
// built-in tool's own input, which a hook may give back; the model's stays in the transcript.
import { relative } from 'node:path';
import { z } from 'zod';
import type { StandardSchema } from '../../system/schema/input-schema.ts';
import { reasonOf } from '../../system/text.ts';
import { type JsonSchema, type JudgeContext, type Tool, ToolFailure } from '../tool.ts';
import { createBashTool } from './bash.ts';
import { createEditTool } from './edit.ts';
import type { BuiltinOptions } from './files/options.ts';
import { seeSessionFiles } from './files/session-paths.ts';
import { createGlobTool } from './glob.ts';
import { createGrepTool } from './grep.ts';
import { createReadTool, PLAIN } from './read.ts';
import { syncMemoryFolders } from './files/memory-folders.ts';
import { laySkillFolders } from './files/skill-folders.ts';
import { type Mounts, type Placed, toMachine, toSession, writableFolders } from './files/mounts.ts';
import { ShellStates } from './shell/kept-shell.ts';
import { createWebFetchTool } from './web-fetch.ts';
import { createWriteTool } from './write.ts';

/** Returns the tools by name. Null: the toolset has none of the name. */
export function createToolset(options: BuiltinOptions): ReadonlyMap<string, Tool | null> {
  const states = options.dataDir === undefined ? undefined : new ShellStates(options.dataDir);
  const placed = (tool: Tool): Tool => seeSessionFiles(inWorkspace(tool), options);
  const { read, write, command } = createMountedForms(options);
  const tools = [
    command(restartable(createBashTool(options, states), states)),
    read(placed(createReadTool(options, PLAIN)), readForm),
    write(placed(createWriteTool(options)), writeForm),
    write(placed(createEditTool(options)), editForm),
    read(placed(createGlobTool(options, true)), globForm),
    read(placed(createGrepTool(options, true)), grepForm),
    present(createWebFetchTool(options.web ?? {}, options), fetchForm),
  ];
  // Commands in the background have no tool here: `bash` begins none.
  return new Map([...tools.map((tool) => [tool.name, tool] as const), ['bash_output', null], ['bash_stop', null]]);
}

/** How a tool is shown to the model, and what its input means for ours. */
type Form<Schema extends z.ZodType> = {
  readonly description: string;
  readonly input: Schema;
  readonly toOwn: (input: z.output<Schema>) => unknown;
};

const filePath = z.string().min(1).describe('The file: absolute, or relative to the workspace');
const searched = z
  .string()
  .optional()
  .describe('Where to search: absolute, or relative to the workspace, which is searched if absent');

const readForm = form(
  'Reads a text file of the workspace as it is, without line numbers, an image (png, jpeg, gif, webp) or PDF as you can see it, a notebook as its cells. ' +
    'A long file is shown in part, with a note on how to read on. Also reads what was stored and is no longer shown, by the name (perdure:…) given in its place.',
  z.strictObject({
    file_path: filePath,
    view_range: z
      .array(z.int())
      .refine(({ length }) => length === 0 || length === 2, 'give the first and the last line')
      .refine(([first = 0, last = 0]) => last <= 0 || last >= first, 'the last line is before the first')
      .optional()
      .describe('The first and the last line to show, from 1; a last line of -1 means the end'),
  }),
  ({ file_path: path, view_range = [] }) => {
    const [first, last = -1] = view_range;
    if (first === undefined) return { path };
    const offset = Math.max(1, first);
    return { path, offset, ...(last > 0 && { limit: last - offset + 1 }) };
  },
);

const writeForm = form(
  'Creates or replaces a file of the workspace with the given content, and makes the folders it needs. To change part of a file, use edit.',
  z.strictObject({ file_path: filePath, content: z.string().describe('All of its new content') }),
  ({ file_path: path, content }) => ({ path, content }),
);

const editForm = form(
  'Replaces text in a file of the workspace. old_string must match exactly, white space included, and only once unless replace_all is true. ' +
    'Line ends of the file (LF or CRLF) are kept. A cell of a notebook is changed by its text as read shows it.',
  z.strictObject({
    file_path: filePath,
    old_string: z.string().min(1).describe('The text to replace, with enough around it to be unique'),
    new_string: z.string().describe('What to put in its place'),
    replace_all: z.boolean().optional().describe('Replace every occurrence'),
  }),
  ({ file_path: path, ...change }) => ({ path, ...change }),
);

const globForm = form(
  'Lists files of the workspace whose path matches a glob (*, ?, [abc], {a,b}, ** for any folders), those changed last first, as absolute paths, at most 200. ' +
    'Files that .gitignore excludes are left out, and so are hidden ones and node_modules unless the pattern or path names them.',
  z.strictObject({
    pattern: z.string().min(1).max(1_000).describe('Such as src/**/*.ts; relative to path'),
    path: searched,
  }),
  (input) => input,
);

const grepForm = form(
  'Searches the files of the workspace for a regular expression (Rust syntax). Answers path:line:text with absolute paths, and ends with how many matches there are. ' +
    'Binary files, node_modules and files that .gitignore excludes are left out.',
  z.strictObject({ pattern: z.string().min(1).max(10_000).describe('The regular expression'), path: searched }),
  (input) => input,
);

const fetchForm = form(
  'Fetches a page of the web (GET, http or https) as Markdown; texts, JSON and XML as they are. Up to 5 MB and 30 s.',
  z.strictObject({ url: z.string().min(1).max(2_000) }),
  (input) => input,
);

const bashForm = form(
  'Runs a bash command and returns its output, errors included, in order. The working directory, while it is in the workspace, and exported variables last until the next call; ' +
    'functions, aliases, shell options, variables that are not exported and background jobs do not. A command that kills its shell, or replaces it (exec) or its EXIT trap, leaves both as they were. ' +
    'There is no input to read from, and processes left in the background are ended with the call. Prefer read, glob and grep for looking at files.',
  z
    .strictObject({
      command: z.string().optional().describe('The command'),
      restart: z.boolean().optional().describe('Begin anew in the workspace, without the variables of earlier calls'),
      timeout_ms: z
        .int()
        .min(1)
        .max(600_000)
        .optional()
        .describe('Milliseconds until it is ended, 120000 if absent, at most 600000'),
    })
    .refine(({ command, restart }) => command || restart, 'give a command, or restart'),
  ({ command, restart, timeout_ms: timeout }) => ({
    command: command || NOTHING,
    ...(restart && { restart }),
    ...(timeout !== undefined && { timeout }),
  }),
);

/** What a call of `bash` without a command runs. */
const NOTHING = 'true';
const ownBash = z.strictObject({
  command: z.string().min(1),
  timeout: z.int().min(1).max(600_000).optional(),
  description: z.string().optional(),
  restart: z.boolean().optional(),
});
type BashInput = z.infer<typeof ownBash>;

/** Adds `restart`: the command begins in the workspace, without variables of earlier ones. */
function restartable(bash: Tool, states: ShellStates | undefined): Tool {
  const anew = <Context extends JudgeContext>(input: unknown, context: Context): Context =>
    (input as BashInput).restart ? { ...context, dir: context.cwd } : context;
  const base = judgedFrom(bash, anew);
  return present(
    {
      ...base,
      inputSchema: ownBash,
      safe: (input, context) => !(input as BashInput).restart && base.safe?.(input, context) === true,
      call: async (input, context) => {
        const { restart, command } = input as BashInput;
        if (!restart) return await base.call(input, context);
        if (context.session !== undefined) states?.clear(context.session);
        const isOnlyThat = command === NOTHING;
        const output = isOnlyThat ? { content: 'The shell begins anew.' } : await base.call(input, context);
        return context.dir === context.cwd ? output : { modify: { cwd: context.cwd }, ...output };
      },
    },
    bashForm,
  );
}

/** File tools of the toolset begin relative paths in the workspace, wherever the shell is. */
const inWorkspace = (tool: Tool): Tool => judgedFrom(tool, (_, context) => ({ ...context, dir: context.cwd }));

type Moved = <Context extends JudgeContext>(input: unknown, context: Context) => Context;

type Shown = <Schema extends z.ZodType>(tool: Tool, form: Form<Schema>) => Tool;

/** Shows tools to a session: with folders below /mnt, they reach these, too (G67). */
function createMountedForms(options: BuiltinOptions): { read: Shown; write: Shown; command: (tool: Tool) => Tool } {
  const { mounts } = options;
  if (!mounts) return { read: present, write: present, command: (tool) => tool };
  const keep = keepTogether(mounts, options);
  const reaching =
    (folders: readonly string[]): Shown =>
    (tool, own) => {
      const further: Moved = (_, context) => ({ ...context, folders: [...(context.folders ?? []), ...folders] });
      const move = tool.name === 'glob' ? moveGlob : movePath;
      const toOwn: typeof own.toOwn = (input) => move(mounts, own.toOwn(input) as Placed);
      return present(keep(judgedFrom(tool, further)), { ...own, toOwn });
    };
  return { read: reaching([mounts.root]), write: reaching(writableFolders(mounts)), command: keep };
}

/** Writes the path of an input as this machine has it. */
const movePath = (mounts: Mounts, input: Placed): Placed =>
  input.path === undefined ? input : { ...input, path: toMachine(mounts, input.path) };

/** A glob may be absolute: then it says where by itself. */
function moveGlob(mounts: Mounts, input: Placed): Placed {
  const { path, pattern = '' } = input;
  if (path !== undefined || toMachine(mounts, pattern) === pattern) return movePath(mounts, input);
  return { ...input, path: mounts.root, pattern: relative(mounts.root, toMachine(mounts, pattern)) };
}

/**
 * Lays folders of skills, keeps those of memories together with their stores before each call and
 * after one that may write, and writes paths as the session sees them.
 */
function keepTogether(mounts: Mounts, options: BuiltinOptions): (tool: Tool) => Tool {
  const { openMemoryStore: openStore, uploadedSkills, sandbox } = options;
  const [untold, read] = [new Set<string>(), new Set<string>()];
  const sync = async (): Promise<void> => {
    if (!openStore) return;
    const hasRead = new Set(read);
    const notes = await syncMemoryFolders({ openStore, programs: sandbox.programs }, mounts, hasRead);
    for (const note of notes) untold.add(note);
    for (const note of hasRead) read.delete(note);
  };
  /** What the call did stays done; what could not be kept is kept before the next one. */
  const syncAfter = async (): Promise<void> => {
    try {
      await sync();
    } catch (error) {
      untold.add(`the memory store was not reached, and your next call keeps what you wrote: ${reasonOf(error)}`);
    }
  };
  const prepare = async (): Promise<void> => {
    if (uploadedSkills) await laySkillFolders(uploadedSkills, mounts);
    await sync();
  };
  const rename = (text: string): string => toSession(mounts, text);
  return (tool) => ({
    ...tool,
    ...(tool.wouldFail && {
      wouldFail: async (input, context) => {
        await prepare();
        return tool.wouldFail?.(input, context);
      },
    }),
    call: async (input, context) => {
      await prepare();
      try {
        const output = await tool.call(input, context);
        if (tool.risk !== 'read') await syncAfter();
        const content = [output.content, ...linesOf([...untold])].join('\n').trimStart();
        for (const note of untold) read.add(note);
        untold.clear();
        return { ...output, content: rename(content) };
      } catch (error) {
        if (!(error instanceof ToolFailure)) throw error;
        throw new ToolFailure(rename(error.message), { cause: error });
      }
    },
    close: async (run) => {
      await tool.close?.(run);
      await sync();
    },
  });
}

const MOST_NOTES = 20;

function linesOf(notes: readonly string[]): readonly string[] {
  const lines = notes.slice(0, MOST_NOTES).map((note) => `(${note})`);
  const more = notes.length - lines.length;
  return more > 0 ? [...lines, `(and ${more} more notes about files of memory stores)`] : lines;
}

/** Gives a tool another working directory, for its judgement of an input and for the call alike. */
function judgedFrom(tool: Tool, moved: Moved): Tool {
  const { risk, safe, canUse, subject, validate, wouldFail, call } = tool;
  return {
    ...tool,
    risk: typeof risk === 'function' ? (input, context) => risk(input, moved(input, context)) : risk,
    ...(safe && { safe: (input, context) => safe(input, moved(input, context)) }),
    ...(canUse && { canUse: (input, context) => canUse(input, moved(input, context)) }),
    ...(subject && { subject: (input, context) => subject(input, moved(input, context)) }),
    ...(validate && { validate: (input, context) => validate(input, moved(input, context)) }),
    ...(wouldFail && { wouldFail: (input, context) => wouldFail(input, moved(input, context)) }),
    call: (input, context) => call(input, moved(input, context)),
  };
}

function form<Schema extends z.ZodType>(
  description: string,
  input: Schema,
  toOwn: (input: z.output<Schema>) => unknown,
): Form<Schema> {
  return { description, input, toOwn };
}

/** Shows a tool in another form. An input of its own form is understood as well. */
function present<Schema extends z.ZodType>(tool: Tool, { description, input, toOwn }: Form<Schema>): Tool {
  const own = tool.inputSchema as unknown as z.ZodType;
  const inputSchema: StandardSchema = {
    '~standard': {
      version: 1,
      vendor: 'perdure',
      validate(value) {
        const accepted = input.safeParse(value);
        const checked = own.safeParse(accepted.success ? toOwn(accepted.data) : value);
        if (checked.success) return { value: checked.data };
        return { issues: (accepted.error ?? checked.error).issues };
      },
    },
  };
  return {
    ...tool,
    description,
    inputSchema,
    inputJsonSchema: z.toJSONSchema(input, { io: 'input' }) as JsonSchema,
    backfillObservableInput: (checked) => checked,
  };
}
