// Attaches texts before a model call, after the outcomes and the messages of users: notifications
// and memories that have settled, then instructions of the workspace (L78), then files that someone
// else has changed (L43).
import type { Log } from '../../system/log.ts';
import { relative } from 'node:path';
import type { Notice, SeenFile } from '../../workflows/contract/activities.ts';
import { CONTEXT_LIMIT } from '../hooks/run-hook.ts';
import { clip, quoteLines } from '../../system/text.ts';
import type { RunConfig } from '../../store/configuration.ts';
import { lastReply, type View } from '../../store/view/view.ts';
import { readInstructions } from './instructions.ts';
import { findSkills, type Skill } from '../../tools/builtin/files/skills.ts';
import type { SkillSettings } from '../../tools/skill-settings.ts';
import type { Store } from '../../store/values/store.ts';
import { type Attachment, type AttachmentProvider, type Attachments, createPrefetch } from './prefetch.ts';
import type { BackgroundCommands } from '../../system/process/background-files.ts';
import { isInReach, isInside, type Reach } from '../../system/process/places.ts';
import { readFileFacts } from '../../tools/builtin/files/file-facts.ts';
import { createSeenFilesReader, type SeenFiles } from '../../store/view/seen-files.ts';
import { inSentNames, namesToSend } from '../../store/transcript/tool-names.ts';
import { isListed } from '../../tools/listed.ts';
import { findTouchingRule, mayReadByRules } from '../../tools/rules/match-rules.ts';
import { CHARACTERS_PER_TOKEN } from '../../workflows/contract/loop.ts';
import { createBodyReader, mediaNote } from '../../store/log/bodies.ts';
import type { Entry } from '../../store/log/entries.ts';
import { readRefused, type RefusedResult } from '../../store/sandbox/offers.ts';
import { isLostEnd, placeInName } from '../../workflows/contract/waits.ts';

/** Files in one notice. */
const MOST_FILES = 50;

type AttachmentPlaces = {
  /** Perdure's own data, from which nothing is told. */
  readonly dataDir?: string;
  /** Absent: no skills are told of (L79). */
  readonly skills?: SkillSettings;
  /** Commands, whose end is told (L84). */
  readonly background?: Pick<BackgroundCommands, 'news'>;
  /** Holds results that came too late (G58). */
  readonly store?: Store;
};

export function createAttachments(
  providers: readonly AttachmentProvider[],
  log: Log,
  { dataDir, skills, background, store }: AttachmentPlaces = {},
): Attachments {
  const ahead = createPrefetch(providers, { log });
  const readSeenFiles = createSeenFilesReader();
  return {
    prefetch: ({ session, queryId, depth, run, cwd, traceparent }) =>
      ahead.start({ session, queryId, depth, run, cwd, ...(traceparent && { traceparent }) }),
    async collect(config, { view, added }) {
      const { session, cwd, folders, environment } = config;
      const since = lastReply(view)?.position ?? -1;
      const finished = background?.news(session, since) ?? [];
      const collected = ahead.take(session, since).map(clipAttachment).map(quoteAttachment);
      const late = store && environment !== undefined ? await tellLateResults(store, view) : [];
      const settled = [...late, ...collected, ...finished.map(clipAttachment)];
      const known = readSeenFiles(view, added);
      const found = skills ? await tellNewSkills(skills, config, findToldSkills(view), dataDir) : null;
      const attached = [...settled, ...(await readInstructions(config, known, dataDir)), ...(found ? [found] : [])].map(
        toNotice,
      );
      const fresh = attached.filter((notice) => !isInView(view, notice));
      const files = findChangedFiles(known, { cwd, folders }, MOST_FILES);
      const notices = [...fresh, ...(files.length === 0 ? [] : [noticeChangedFiles(files, cwd)])];
      return notices.map((notice) => ({ kind: 'notice', notice }));
    },
  };
}

type FilesChanged = Extract<Notice, { kind: 'files_changed' }>;
type AttachmentNotice = Extract<Notice, { kind: 'attachment' }>;

function toNotice({ source, text }: Attachment): AttachmentNotice {
  return { kind: 'attachment', source: oneLine(source), text };
}

function clipAttachment({ source, text }: Attachment): Attachment {
  return { source, text: clip(text, CONTEXT_LIMIT) };
}

function quoteAttachment({ source, text }: Attachment): Attachment {
  return { source, text: quoteLines(text) };
}

/**
 * Tells whether a notice is the last that its source said since the model's view began: an
 * unchanged text is told once.
 */
function isInView(view: View, { source, text }: AttachmentNotice): boolean {
  for (let position = view.length - 1; position >= 0; position -= 1) {
    const entry = view.at(position);
    if (entry?.kind === 'boundary') return false;
    if (entry?.kind !== 'notice' || entry.notice.kind !== 'attachment') continue;
    if (entry.notice.source === source) return entry.notice.text === text;
  }
  return false;
}

/**
 * Replaces control characters: a name may hold a line end, and what follows it would stand there as
 * our words.
 */
const oneLine = (path: string): string => path.replaceAll(/\p{Cc}/gu, '\ufffd');

function noticeChangedFiles(files: readonly SeenFile[], cwd: string): FilesChanged {
  const named = (path: string): string => oneLine(isInside(cwd, path) ? relative(cwd, path) : path);
  const paths = files.map(({ path, gone: isGone }) => `${named(path)}${isGone === true ? ' (deleted)' : ''}`);
  return { kind: 'files_changed', paths, files };
}

/**
 * Finds files that differ from what the agent knows (L43), at most `most`; the others follow next
 * time. A change by a shell command is told as well, because only the file tools are tracked. Never
 * throws.
 */
function findChangedFiles(seenFiles: SeenFiles, reach: Reach, most: number): readonly SeenFile[] {
  const known = [...seenFiles.values()].filter(({ path }) => isInReach(reach, path));
  const changed = known.flatMap((file) => {
    const now = readFileFacts(file.path);
    return now === null || isSameFile(file, now) ? [] : [now];
  });
  return changed.slice(0, most);
}

function isSameFile(a: SeenFile, b: SeenFile): boolean {
  return a.mtimeMs === b.mtimeMs && a.size === b.size && a.gone === b.gone;
}

// Names the skills that a run may load to the model, each once (L79).
const SKILLS = 'skills';

const HEAD = 'Skills for the tool `skill`. Load one when the task fits it:';
/** The share of the window for all skills that are named between two summaries. */
const SHARE = 0.02;

type SkillConfig = Pick<RunConfig, 'cwd' | 'permissions' | 'tools' | 'models' | 'toolNames'>;

/**
 * Names the skills that are new. `earlier` are the texts that this has returned since the model's
 * view began. Null: nothing is new. Skills without room are left out, from the end.
 */
export async function tellNewSkills(
  settings: SkillSettings,
  config: SkillConfig,
  earlier: readonly string[],
  hidden: string | undefined,
): Promise<Attachment | null> {
  const { cwd, permissions = {}, tools, models } = config;
  if (!isListed(tools, 'skill')) return null;
  const { skills } = await findSkills(settings, { cwd, hidden, mayRead: (path) => mayReadByRules(config, path) });
  const known = new Set(earlier.flatMap((text) => text.split('\n')));
  const isDenied = ({ name }: Skill): boolean =>
    findTouchingRule(permissions.deny, { tool: { name: 'skill' }, cwd, subject: () => ({ kind: 'name', name }) }) !==
    undefined;
  const lines = skills
    .filter((skill) => !isDenied(skill))
    .map(writeLine)
    .filter((line) => !known.has(line));
  let left =
    models[0].window * CHARACTERS_PER_TOKEN * SHARE - earlier.reduce((sum, text) => sum + text.length, HEAD.length);
  const fitting = lines.filter((line) => (left -= line.length + 1) >= 0);
  return fitting.length === 0
    ? null
    : { source: SKILLS, text: [inSentNames(HEAD, namesToSend(config.toolNames, [])), ...fitting].join('\n') };
}

/** Returns the texts of `tellNewSkills` that the model still sees. */
function findToldSkills(view: View): readonly string[] {
  const texts: string[] = [];
  for (let position = view.length - 1; position >= 0; position -= 1) {
    const entry = view.at(position);
    if (entry?.kind === 'boundary') break;
    if (entry?.kind !== 'notice' || entry.notice.kind !== 'attachment') continue;
    if (entry.notice.source === SKILLS) texts.push(entry.notice.text);
  }
  return texts;
}

function writeLine({ name, description, from }: Skill): string {
  return `- ${name}${from === 'workspace' ? ' (of the workspace)' : ''}: ${description}`;
}

/** Results before one model call; others follow before the next. */
const MOST_AT_ONCE = 5;
const LONGEST_CALL = 300;

/**
 * Tells the model of results of sandboxes that came after their calls were concluded as unknown
 * (G58), each once: the transcript records what was told. Throws StoreError.
 */
export async function tellLateResults(store: Store, view: View): Promise<readonly Attachment[]> {
  const late = (await readRefused({ store, session: view.session })).filter(({ why }) => why === 'late');
  if (late.length === 0) return [];
  const { lost, sources } = readTold(view);
  const firsts = new Map(late.toReversed().map((each) => [each.settled.call, each]));
  const untold = [...firsts.values()]
    .toReversed()
    .filter(({ settled: { call } }) => lost.has(call) && !sources.has(sourceOf(call)))
    .slice(0, MOST_AT_ONCE);
  const words = await Promise.all(untold.map((each) => readWords(store, each)));
  return untold.map(({ settled: { call } }, at) => ({
    source: sourceOf(call),
    text: `arrived late: the result of ${lost.get(call)}, whose outcome was given as unknown.\n${words[at]}`,
  }));
}

const sourceOf = (call: string): string => `the sandbox, about call ${call}`;

/** Reads which calls were concluded as unknown, in words, and what has been told since. */
function readTold(view: View): { readonly lost: ReadonlyMap<string, string>; readonly sources: ReadonlySet<string> } {
  const lost = new Map<string, string>();
  const sources = new Set<string>();
  let reply: Extract<Entry, { kind: 'reply' }> | undefined;
  for (let position = 0; position < view.length; position += 1) {
    const entry = view.at(position);
    if (entry?.kind === 'reply') reply = entry;
    else if (entry?.kind === 'settled' && isLostEnd(entry)) lost.set(entry.call, describeCall(reply, entry.call));
    else if (entry?.kind === 'notice' && entry.notice.kind === 'attachment') sources.add(entry.notice.source);
  }
  return { lost, sources };
}

function describeCall(reply: Extract<Entry, { kind: 'reply' }> | undefined, call: string): string {
  const block = reply?.message.content[placeInName(call).index];
  return block?.type === 'tool_use' ? clip(`${block.name} ${JSON.stringify(block.input)}`, LONGEST_CALL) : 'a call';
}

async function readWords(store: Store, { settled }: RefusedResult): Promise<string> {
  const body = settled.result?.body;
  if (body === undefined) return '';
  const bodies = await createBodyReader(store)([{ ...settled, result: { body: { ...body, media: [] } } }]);
  const text = body.kind === 'text' ? body.text : (bodies.get(body.hash) ?? '');
  return `${quoteLines(clip(text, CONTEXT_LIMIT))}${mediaNote(body)}`;
}
