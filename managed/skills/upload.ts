// Reads the upload of a skill (G64): files of one folder with a SKILL.md, or one zip archive of
// them. What is stored is an archive of Perdure's own with the files alone, below the skill's name.
import { findInTheWay, memoryPathProblem, SKILL_BOUNDS } from '../../client/faces/stored.ts';
import { parseSkill, SKILL_FILE } from '../../client/faces/tools.ts';
import { showUnseen } from '../../system/text.ts';
import { readZip, writeZip, ZipError, type ZipFile } from '../../system/zip.ts';
import { invalid, type ManagedError } from '../errors.ts';

/** `displayName`: null where none was sent. */
export type SkillUpload = {
  readonly name: string;
  readonly description: string;
  readonly displayName: string | null;
  readonly archive: Uint8Array;
};

const LONGEST_FILE_NAME = 255;
const LONGEST_DISPLAY_NAME = 255;
const LONGEST_DESCRIPTION = 1_024;
const NAME = /^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/;
const RESERVED = ['anthropic', 'claude'];
const FILES = /^files(?:\[\d*\])?$/;
/** What the archives of macOS have beside the files. */
const RESOURCE_FORKS = '__MACOSX/';

const wrong = (why: string): ManagedError => invalid(`files: ${why}`, 'files');

/** `fields`: names of parts that may be there besides the files. Throws ManagedError. */
export async function readSkillUpload(body: unknown, fields: readonly 'display_name'[]): Promise<SkillUpload> {
  if (!(body instanceof FormData)) throw wrong('send multipart/form-data with the files of the skill');
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
  if (files.length === 0 || files.length < parts.length) throw wrong('give each file as a part with a filename');
  const [first] = files;
  if (first && files.length === 1 && /^[^/]+\.(?:zip|skill)$/i.test(first.name)) return readArchive(first);
  if (files.length > SKILL_BOUNDS.files) throw wrong(`there are ${files.length}: at most ${SKILL_BOUNDS.files}`);
  return Promise.all(
    files.map(async (file) => ({ path: file.name, bytes: await bytesOf(file), isExecutable: false })),
  );
}

async function readArchive(file: File): Promise<readonly ZipFile[]> {
  try {
    return await readZip(await bytesOf(file), SKILL_BOUNDS);
  } catch (error) {
    if (!(error instanceof ZipError)) throw error;
    throw wrong(`the archive ${error.message}`);
  }
}

const bytesOf = async (file: File): Promise<Uint8Array> => new Uint8Array(await file.arrayBuffer());

/** Equal files come in an equal order, whoever packed them. */
const normalize = (files: readonly ZipFile[]): readonly ZipFile[] =>
  files
    .filter(({ path }) => !path.startsWith(RESOURCE_FORKS))
    .map((file) => ({ ...file, path: file.path.normalize('NFC') }))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));

/** Returns what the SKILL.md says. Throws ManagedError. */
async function checkFiles(files: readonly ZipFile[]): Promise<Pick<SkillUpload, 'name' | 'description'>> {
  const size = files.reduce((sum, { bytes }) => sum + bytes.length, 0);
  if (size > SKILL_BOUNDS.bytes) throw wrong(`they have ${size} bytes together: at most ${SKILL_BOUNDS.bytes}`);
  for (const { path } of files) {
    const problem = pathProblem(path);
    if (problem !== null) throw wrong(`${JSON.stringify(showUnseen(path).slice(0, 200))}: ${problem}`);
  }
  const paths = files.map(({ path }) => path);
  const blocked = findInTheWay(paths);
  if (blocked !== undefined) throw wrong(`${JSON.stringify(blocked)} is in the way of another path`);
  const [folder = ''] = paths[0]?.split('/') ?? [];
  const text = files.find(({ path }) => path === `${folder}/${SKILL_FILE}`);
  if (!text || !paths.every((path) => path.startsWith(`${folder}/`)))
    throw wrong(`they must be in one top-level folder with a ${SKILL_FILE} at its root`);
  return checkFront(await parseSkill(text.bytes, folder));
}

function pathProblem(path: string): string | null {
  if (path.includes('\\')) return 'a path has slashes, no backslashes';
  const isLong = path.split('/').some((name) => Buffer.byteLength(name) > LONGEST_FILE_NAME);
  return isLong ? `a name has at most ${LONGEST_FILE_NAME} bytes` : memoryPathProblem(`/${path}`);
}

function checkFront(front: Awaited<ReturnType<typeof parseSkill>>): Pick<SkillUpload, 'name' | 'description'> {
  if ('problem' in front) throw wrong(`${SKILL_FILE} ${front.problem}`);
  const { name, description } = front;
  const reserved = RESERVED.find((word) => name.includes(word));
  if (!NAME.test(name)) throw wrong(`the name in ${SKILL_FILE} is 1 to 64 lower-case letters, digits and hyphens`);
  if (reserved !== undefined) throw wrong(`the name in ${SKILL_FILE} has the reserved word "${reserved}"`);
  if (description.length > LONGEST_DESCRIPTION)
    throw wrong(`the description in ${SKILL_FILE} has over ${LONGEST_DESCRIPTION} characters`);
  if (/<[^>]*>/.test(description)) throw wrong(`the description in ${SKILL_FILE} has an XML tag`);
  return { name, description };
}

function displayNameOf(value: unknown): string | null {
  if (value === null) return null;
  if (typeof value === 'string' && value.trim() !== '' && value.length <= LONGEST_DISPLAY_NAME && isLine(value))
    return value;
  throw invalid(`display_name: give 1 to ${LONGEST_DISPLAY_NAME} characters on one line`, 'display_name');
}

const isLine = (text: string): boolean => !/[\n\t]/.test(text) && showUnseen(text) === text;
