// The routes of skills (G64) and what an upload may be: the files of one folder with a SKILL.md, or
// one zip archive of them. A new archive is stored, with the plain files below the skill's name.
import { createHash } from 'node:crypto';
import type { BetaSkill, BetaSkillVersion } from '@anthropic-ai/sdk/resources/beta/skills';
import { findInTheWay, memoryPathProblem, SKILL_BOUNDS } from '../../client/faces/stored.ts';
import { parseSkill, SKILL_FILE } from '../../client/faces/tools.ts';
import { showUnseen } from '../../system/text.ts';
import { readZip, writeZip, ZipError, type ZipFile } from '../../system/zip.ts';
import { invalid, ManagedError } from '../errors.ts';
import { newId } from '../ids.ts';
import { type ListRequest, pageOf, placeOf } from '../pages.ts';
import { filterOf, type Handler, idIn, type ManagedRequest, type Paged, pageIn, type Parts } from '../request.ts';
import { reserveIds } from '../request-log.ts';
import { pageQuery, skillList } from '../shapes/agents.ts';
import { parseQuery } from '../shapes/parse.ts';
import type { ServedName } from '../surface.ts';
import { showSkill, type SkillUpload, type VersionIds } from './skill-resources.ts';

const skillIn = (request: ManagedRequest): string => idIn(request, 'skill_id', 'skill', 'Skill');

export const skillHandlers = (parts: Parts) =>
  ({
    'skills.create': async (request) => {
      const upload = await readSkillUpload(request.body, ['display_name']);
      return parts.skills.create(await newIds(parts, request, upload), request.person, upload);
    },
    'skills.retrieve': (request) => parts.skills.retrieve(skillIn(request)),
    'skills.delete': (request) => parts.skills.delete(skillIn(request), request.person),
    'skills.list': async (request): Promise<Paged<BetaSkill>> => {
      const query = parseQuery(skillList, request.query);
      const { source = 'custom' } = query;
      const all = source === 'custom' ? await parts.skills.list() : [];
      const list: ListRequest = { list: 'skills', order: 'desc', filter: filterOf(query), ...pageIn(query) };
      const page = pageOf(await parts.cursors(), list, all, placeOf);
      return { data: page.items.map(showSkill), next_page: page.next };
    },
    'skills.versions.create': async (request) => {
      const skill = skillIn(request);
      const upload = await readSkillUpload(request.body, []);
      const { version } = await newIds(parts, request, upload);
      return parts.skills.addVersion({ skill, version }, request.person, upload);
    },
    'skills.versions.list': async (request): Promise<Paged<BetaSkillVersion>> => {
      const query = parseQuery(pageQuery, request.query);
      const skill = skillIn(request);
      const all = (await parts.skills.versions(skill)).map((id, at) => ({ id, at }));
      const list: ListRequest = { list: `versions ${skill}`, order: 'asc', filter: null, ...pageIn(query) };
      const page = pageOf(await parts.cursors(), list, all, ({ at }) => String(at).padStart(9, '0'));
      const data = await Promise.all(page.items.map(({ id }) => parts.skills.versionOfSession(id)));
      return { data, next_page: page.next };
    },
    'skills.versions.retrieve': (request) => versionIn(parts, request),
    'skills.versions.download': async (request) => {
      const { id, name } = await versionIn(parts, request);
      const archive = new Uint8Array(await parts.skills.download(id));
      const headers = {
        'Content-Type': 'application/zip',
        'Content-Length': String(archive.length),
        'Content-Disposition': `attachment; filename="${name}.zip"`,
      };
      return new Response(archive, { headers });
    },
    'skills.versions.delete': (request) =>
      parts.skills.deleteVersion(skillIn(request), request.params['version'] ?? '', request.person),
  }) satisfies Partial<Record<ServedName, Handler>>;

async function newIds({ ports }: Parts, request: ManagedRequest, upload: SkillUpload): Promise<VersionIds> {
  const { archive, ...named } = upload;
  const content = createHash('sha256').update(archive).digest('hex');
  const makeIds = () => [newId('skill'), newId('skillver')];
  const [skill = '', version = ''] = await reserveIds(ports, { ...request, body: { ...named, content } }, makeIds);
  return { skill, version };
}

/**
 * Returns the version that a request names. A worker reads those of its session alone, also deleted
 * ones. Throws ManagedError.
 */
async function versionIn(parts: Parts, request: ManagedRequest): Promise<BetaSkillVersion> {
  const { caller, params } = request;
  const [skill, version] = [skillIn(request), params['version'] ?? ''];
  if (caller.kind !== 'session token') return parts.skills.version(skill, version);
  const { agent } = await parts.sessions.item(caller.lease.session);
  const { skills } = await parts.stored.sessionAgent(agent);
  const own = skills.find((one) => one.skill_id === skill && one.version === version);
  if (!own) throw new ManagedError(403, 'This version is of no skill of the session of this token');
  return parts.skills.versionOfSession(own.version);
}

const LONGEST_FILE_NAME = 255;
const LONGEST_DISPLAY_NAME = 255;
const LONGEST_DESCRIPTION = 1_024;
const NAME = /^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/;
const RESERVED = ['anthropic', 'claude'];
const FILES = /^files(?:\[\d*\])?$/;
/** Archives of macOS have a second folder with these. */
const RESOURCE_FORKS = '__MACOSX/';

const filesProblem = (why: string): ManagedError => invalid(`files: ${why}`, 'files');

/** `fields`: names of parts that may be there besides the files. Throws ManagedError. */
async function readSkillUpload(body: unknown, fields: readonly 'display_name'[]): Promise<SkillUpload> {
  if (!(body instanceof FormData)) throw filesProblem('send multipart/form-data with the files of the skill');
  const other = [...body.keys()].find((name) => !FILES.test(name) && !fields.some((field) => field === name));
  if (other !== undefined) throw invalid(`${other.slice(0, 80)}: Extra inputs are not permitted`, other.slice(0, 80));
  const files = normalize(await readFiles(body));
  const { name, description } = await checkFiles(files);
  const below = ({ path }: ZipFile): string => `${name}${path.slice(path.indexOf('/'))}`;
  const archive = writeZip(files.map((file) => ({ ...file, path: below(file) })));
  return { name, description, displayName: displayNameOf(body.get('display_name')), archive };
}

async function readFiles(form: FormData): Promise<readonly ZipFile[]> {
  const parts = [...form].flatMap(([name, value]) => (FILES.test(name) ? [value] : []));
  const files = parts.filter((part): part is File => part instanceof File);
  if (files.length === 0 || files.length < parts.length) throw filesProblem('give each file as a part with a filename');
  const [first] = files;
  if (first && files.length === 1 && /^[^/]+\.(?:zip|skill)$/i.test(first.name)) return readArchive(first);
  if (files.length > SKILL_BOUNDS.files) throw filesProblem(`there are ${files.length}: at most ${SKILL_BOUNDS.files}`);
  return Promise.all(files.map(async (file) => ({ path: file.name, bytes: await bytesOf(file), isExecutable: false })));
}

async function readArchive(file: File): Promise<readonly ZipFile[]> {
  try {
    return await readZip(await bytesOf(file), SKILL_BOUNDS);
  } catch (error) {
    if (!(error instanceof ZipError)) throw error;
    throw filesProblem(`the archive ${error.message}`);
  }
}

const bytesOf = async (file: File): Promise<Uint8Array> => new Uint8Array(await file.arrayBuffer());

/** Sorts the files, so that equal ones make an equal archive. */
const normalize = (files: readonly ZipFile[]): readonly ZipFile[] =>
  files
    .filter(({ path }) => !path.startsWith(RESOURCE_FORKS))
    .map((file) => ({ ...file, path: file.path.normalize('NFC') }))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));

/** Returns what the SKILL.md says. Throws ManagedError. */
async function checkFiles(files: readonly ZipFile[]): Promise<Pick<SkillUpload, 'name' | 'description'>> {
  const size = files.reduce((sum, { bytes }) => sum + bytes.length, 0);
  if (size > SKILL_BOUNDS.bytes) throw filesProblem(`they have ${size} bytes together: at most ${SKILL_BOUNDS.bytes}`);
  for (const { path } of files) {
    const problem = pathProblem(path);
    if (problem !== null) throw filesProblem(`${JSON.stringify(showUnseen(path).slice(0, 200))}: ${problem}`);
  }
  const paths = files.map(({ path }) => path);
  const blocked = findInTheWay(paths);
  if (blocked !== undefined) throw filesProblem(`${JSON.stringify(blocked)} is in the way of another path`);
  const [folder = ''] = paths[0]?.split('/') ?? [];
  const text = files.find(({ path }) => path === `${folder}/${SKILL_FILE}`);
  if (!text || !paths.every((path) => path.startsWith(`${folder}/`)))
    throw filesProblem(`they must be in one top-level folder with a ${SKILL_FILE} at its root`);
  return checkFront(await parseSkill(text.bytes, folder));
}

function pathProblem(path: string): string | null {
  if (path.includes('\\')) return 'a path has slashes, no backslashes';
  const isLong = path.split('/').some((name) => Buffer.byteLength(name) > LONGEST_FILE_NAME);
  return isLong ? `a name has at most ${LONGEST_FILE_NAME} bytes` : memoryPathProblem(`/${path}`);
}

function checkFront(front: Awaited<ReturnType<typeof parseSkill>>): Pick<SkillUpload, 'name' | 'description'> {
  if ('problem' in front) throw filesProblem(`${SKILL_FILE} ${front.problem}`);
  const { name, description } = front;
  const reserved = RESERVED.find((word) => name.includes(word));
  if (!NAME.test(name))
    throw filesProblem(`the name in ${SKILL_FILE} is 1 to 64 lower-case letters, digits and hyphens`);
  if (reserved !== undefined) throw filesProblem(`the name in ${SKILL_FILE} has the reserved word "${reserved}"`);
  if (description.length > LONGEST_DESCRIPTION)
    throw filesProblem(`the description in ${SKILL_FILE} has over ${LONGEST_DESCRIPTION} characters`);
  if (/<[^<>]*>/.test(description)) throw filesProblem(`the description in ${SKILL_FILE} has an XML tag`);
  return { name, description };
}

function displayNameOf(value: unknown): string | null {
  if (value === null) return null;
  if (typeof value === 'string' && value.trim() !== '' && value.length <= LONGEST_DISPLAY_NAME && isLine(value))
    return value;
  throw invalid(`display_name: give 1 to ${LONGEST_DISPLAY_NAME} characters on one line`, 'display_name');
}

const isLine = (text: string): boolean => !/[\n\t]/.test(text) && showUnseen(text) === text;
