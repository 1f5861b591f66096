// Files (G66): uploads, the copies attached to sessions, and sessions' outputs. A copy lives as
// long as its session, even after its upload is deleted.
import type { BetaFileMetadata } from '@anthropic-ai/sdk/resources/beta/files';
import type { BetaManagedAgentsFileResource } from '@anthropic-ai/sdk/resources/beta/sessions/resources';
import { getExtension, getMimeType } from 'hono/utils/mime';
import { StoreError } from '../../client/faces/sessions.ts';
import { attachedTo, Files, isInTheWay, OUTPUTS, UPLOADS } from '../../client/faces/stored.ts';
import type { AttachedFile, CapturedFile, FileItem, Resources } from '../../client/faces/types.ts';
import { showUnseen, wellFormedText } from '../../system/text.ts';
import { invalid, notFound, unsupported } from '../errors.ts';
import { fileId, fileOfResource, formatTime, isId, newId, resourceOfFile } from '../ids.ts';
import { LIST_AGE_MS } from '../log/stored.ts';
import { sortByCreation } from '../pages.ts';
import type { ManagedPorts } from '../ports.ts';
import { type FileResource, MOST_RESOURCES, type ResourceParams } from '../shapes/files.ts';

/** Bytes of a file, as snapshots of folders take them. */
export const LARGEST_FILE = 50 * 1024 * 1024;
const MOST_OUTPUTS = 500;
const LONGEST_NAME = 255;
const LONGEST_PATH = 1_024;
const LONGEST_TYPE = 100;
const BINARY = 'application/octet-stream';

/** A file with its id. */
export type NamedFile = readonly [id: string, item: FileItem];

/** What an upload contains. */
export type Upload = { readonly filename: string; readonly mimeType: string; readonly bytes: Uint8Array };

type Items = Resources<FileItem>;

export class FileResources {
  readonly #files: Files;
  readonly #ports: Pick<ManagedPorts, 'now' | 'outputs'>;

  constructor(ports: Pick<ManagedPorts, 'store' | 'now' | 'outputs'>) {
    this.#files = new Files(ports.store, ports.now);
    this.#ports = ports;
  }

  /** A repeated request with the same `id` creates nothing new. Throws 404 once it was deleted. */
  async upload(id: string, by: string, { filename, mimeType, bytes }: Upload): Promise<BetaFileMetadata> {
    await this.#files.keepBytes(id, bytes);
    await this.#create(id, by, { createdAt: this.#ports.now(), filename, mimeType, size: bytes.length });
    return this.retrieve(id);
  }

  async #create(
    id: string,
    by: string,
    item: FileItem,
    check: (items: Items) => void = () => undefined,
  ): Promise<void> {
    await this.#files.log.append(by, (items, deleted) => {
      if (deleted.has(id)) throw fileNotFound(id);
      if (items.has(id)) return null;
      check(items);
      return { id, item };
    });
  }

  async retrieve(id: string): Promise<BetaFileMetadata> {
    return showFile([id, await this.#find(id)]);
  }

  async #find(id: string): Promise<FileItem> {
    const item = isId('file', id) ? (await this.#files.log.read()).get(id) : undefined;
    if (!item) throw fileNotFound(id);
    return item;
  }

  /** Returns what a session made. Throws ManagedError for an upload, which its owner has. */
  async download(id: string): Promise<Pick<Upload, 'filename' | 'mimeType'> & { readonly bytes: Uint8Array }> {
    const item = await this.#find(id);
    if (!isDownloadable(item)) throw invalid(`File ${id} is an upload: only outputs are downloaded`, undefined, CODE);
    return { ...item, bytes: await this.#bytesOf(id) };
  }

  /** Returns how many bytes the files have together, an id's as often as it is there. */
  async measure(ids: readonly string[]): Promise<number> {
    const items = await this.#files.log.read();
    return ids.reduce((sum, id) => sum + (items.get(id)?.size ?? 0), 0);
  }

  /** Returns a file that a message names. Throws ManagedError. */
  async read(id: string): Promise<Pick<FileItem, 'mimeType'> & { readonly bytes: Uint8Array }> {
    const { mimeType } = await this.#find(id);
    return { mimeType, bytes: await this.#bytesOf(id) };
  }

  async #bytesOf(id: string): Promise<Uint8Array> {
    const bytes = await this.#files.bytesOf(id);
    if (!bytes) throw fileNotFound(id);
    return bytes;
  }

  /** Deletes the file. Its bytes go with a clean-up of the store. Throws ManagedError 404. */
  async delete(id: string, by: string): Promise<void> {
    const { session = '', output, blob = '' } = await this.#find(id);
    if (output !== undefined) {
      const mark = deletedOutput(session, { path: output, blob });
      await this.#files.log.append(by, () => ({ id: mark, item: null }));
    }
    await this.#remove([id], by);
  }

  async #remove(ids: readonly string[], by: string): Promise<void> {
    for (const id of ids) await this.#files.log.append(by, (items) => (items.has(id) ? { id, item: null } : null));
  }

  /** Lists files, newest first: of a session what it has made by now, too. */
  async list({ scope, ids }: { readonly scope?: string | undefined; readonly ids?: readonly string[] | undefined }) {
    if (scope !== undefined && isId('sesn', scope)) await this.#collectOutputs(scope);
    const all = [...(await this.#files.log.read(scope === undefined ? LIST_AGE_MS : 0))];
    const isChosen = ([id, { session }]: NamedFile): boolean =>
      (scope === undefined || session === scope) && (ids?.includes(id) ?? true);
    return sortByCreation(all.filter(isChosen));
  }

  /**
   * Makes files of what the session's folder of outputs had when it was captured last. One that was
   * changed or removed since is a file no more.
   */
  async #collectOutputs(session: string): Promise<void> {
    const captured = await this.#ports.outputs(session);
    if (captured === null) return;
    const made = captured.files.slice(0, MOST_OUTPUTS);
    let [stale, fresh]: [string[], readonly CapturedFile[]] = [[], []];
    await this.#files.log.append(session, (items, deleted) => {
      const own = [...items].filter(([, item]) => item.session === session && item.output !== undefined);
      const isThere = (one: CapturedFile): boolean => own.some(([, item]) => isOutput(item, session, one));
      stale = own.filter(([, item]) => !made.some((one) => isOutput(item, session, one))).map(([id]) => id);
      fresh = made.filter((one) => !isThere(one) && !deleted.has(deletedOutput(session, one)));
      return null;
    });
    const contents = captured.read(fresh.map(({ blob }) => blob));
    for (const one of fresh) {
      const next = await contents.next();
      if (next.done) throw new StoreError('missing', `the content of output ${one.path} is missing`);
      await this.#keepOutput(session, one, next.value[1]);
    }
    await this.#remove(stale, session);
  }

  /**
   * One that somebody deleted stays deleted, and one that the session has made again has a new id.
   */
  async #keepOutput(session: string, one: CapturedFile, bytes: Uint8Array): Promise<void> {
    const filename = one.path.slice(one.path.lastIndexOf('/') + 1);
    const mimeType = typeOf(filename);
    const { path: output, blob } = one;
    const item = { createdAt: this.#ports.now(), filename, mimeType, size: bytes.length, session, output, blob };
    const id = newId('file');
    await this.#files.keepBytes(id, bytes);
    await this.#files.log.append(session, (items, deleted) => {
      const isThere = [...items.values()].some((other) => isOutput(other, session, one));
      return isThere || deleted.has(deletedOutput(session, one)) ? null : { id, item };
    });
  }

  /** Returns the session's resources, in the order in which they were attached. */
  async resources(session: string, maxAgeMs = 0): Promise<BetaManagedAgentsFileResource[]> {
    return attachedTo(await this.#files.log.read(maxAgeMs), session).map(showResource);
  }

  async resource(session: string, id: string): Promise<BetaManagedAgentsFileResource> {
    const found = (await this.resources(session)).find((one) => one.id === id);
    if (!found) throw notFound('Resource', id);
    return found;
  }

  /**
   * Attaches resources to a session that is about to be created: all of them, or none. A repeat
   * attaches nothing twice. Throws ManagedError.
   */
  async attachAll(session: string, by: string, resources: readonly ResourceParams[]): Promise<void> {
    for (const [at, file] of await this.check(resources)) {
      const id = fileId(session, 'resource', at);
      await this.#attach(session, id, by, file, `resources.${at}.`);
    }
  }

  /** Returns the files among the resources with their places. Throws ManagedError. */
  async check(resources: readonly ResourceParams[]): Promise<readonly (readonly [at: number, file: FileResource])[]> {
    const mounts: string[] = [];
    const files = [...resources.entries()]
      .filter(([, { type }]) => type !== 'memory_store')
      .map(([at, one]) => [at, requireFile(one, `resources.${at}`)] as const);
    for (const [at, file] of files) {
      await this.#source(file, `resources.${at}.file_id`);
      const param = `resources.${at}.mount_path`;
      const mount = mountOf(file, param);
      refuseOverlap(mount, mounts, param);
      mounts.push(mount);
    }
    return files;
  }

  /** Attaches a copy of a file, as the file `id`. Throws ManagedError. */
  async attach(session: string, id: string, by: string, file: FileResource): Promise<BetaManagedAgentsFileResource> {
    await this.#attach(session, id, by, file, '');
    return this.resource(session, resourceOfFile(id));
  }

  async #attach(session: string, id: string, by: string, file: FileResource, path: string): Promise<void> {
    const source = await this.#source(file, `${path}file_id`);
    const mount = mountOf(file, `${path}mount_path`);
    const hash = await this.#files.hashOf(file.file_id);
    if (hash === null) throw fileNotFound(file.file_id);
    await this.#files.nameBytes(id, hash);
    const { filename, mimeType, size } = source;
    const copy = { createdAt: this.#ports.now(), filename, mimeType, size, session, mount };
    await this.#create(id, by, copy, (items) => {
      const attached = attachedTo(items, session);
      if (attached.length >= MOST_RESOURCES) throw invalid(`a session has at most ${MOST_RESOURCES} resources`);
      refuseOverlap(
        mount,
        attached.map(([, one]) => one.mount),
        `${path}mount_path`,
      );
    });
  }

  async #source({ file_id: id }: FileResource, param: string): Promise<FileItem> {
    const item = (await this.#files.log.read()).get(id);
    const why = `${param}: file ${JSON.stringify(id.slice(0, 80))} was not found`;
    if (!item) throw invalid(why, param, NOT_FOUND);
    return item;
  }

  async detach(session: string, id: string, by: string): Promise<void> {
    await this.resource(session, id);
    await this.#remove([fileOfResource(id)], by);
  }

  /** Deletes all files of a session that was deleted. */
  async release(session: string, by: string): Promise<void> {
    const items = await this.#files.log.read();
    const own = [...items].flatMap(([id, one]) => (one.session === session ? [id] : []));
    await this.#remove(own, by);
  }
}

const CODE = 'file_not_downloadable';
const NOT_FOUND = 'file_not_found';

const fileNotFound = (id: string) => notFound('File', id, NOT_FOUND);

const isOutput = (item: FileItem, session: string, { path, blob }: CapturedFile): boolean =>
  item.session === session && item.output === path && item.blob === blob;

/** What stands in the log for an output of one content that somebody deleted. */
const deletedOutput = (session: string, { path, blob }: CapturedFile): string => fileId(session, path, blob);

const isDownloadable = ({ output }: FileItem): boolean => output !== undefined;

/** A file below the folder of outputs has a path, which is none of its name's. */
type Extension = { readonly perdure?: { readonly path: string } };

export const showFile = ([id, item]: NamedFile): BetaFileMetadata =>
  ({
    id,
    type: 'file',
    filename: item.filename,
    mime_type: item.mimeType,
    size_bytes: item.size,
    created_at: formatTime(item.createdAt),
    downloadable: isDownloadable(item),
    expires_at: null,
    scope: item.session === undefined ? null : { type: 'session', id: item.session },
    ...(item.output?.includes('/') && { perdure: { path: `${OUTPUTS}/${item.output}` } }),
  }) satisfies BetaFileMetadata & Extension;

function showResource([id, { createdAt, mount }]: AttachedFile): BetaManagedAgentsFileResource {
  const time = formatTime(createdAt);
  const mount_path = `${UPLOADS}/${mount}`;
  return { id: resourceOfFile(id), type: 'file', file_id: id, mount_path, created_at: time, updated_at: time };
}

function requireFile(resource: ResourceParams, param: string): FileResource {
  if (resource.type === 'file') return resource;
  throw unsupported(`${param}.type`, `resources of type "${resource.type}" are not served yet`);
}

/** Returns the path below the uploads: `/data.csv` is `data.csv`. Throws ManagedError. */
function mountOf({ file_id, mount_path: path }: FileResource, param: string): string {
  if (path === null || path === undefined) return file_id;
  const below = path.startsWith(`${UPLOADS}/`) ? path.slice(UPLOADS.length + 1) : path.replace(/^\//, '');
  const problem = problemOfMount(below);
  if (problem !== undefined) throw invalid(`${param}: ${problem}`, param);
  return below;
}

function problemOfMount(path: string): string | undefined {
  const names = path.split('/');
  if (names.some((name) => ['', '.', '..'].includes(name)))
    return 'give the path of a file, without empty names, "." and ".."';
  if (showUnseen(path) !== path || /[\n\t]/.test(path) || wellFormedText(path) !== path)
    return 'the path has characters that cannot be seen';
  if (names.some((name) => Buffer.byteLength(name) > LONGEST_NAME)) return `a name has over ${LONGEST_NAME} bytes`;
  return Buffer.byteLength(path) > LONGEST_PATH ? `the path has over ${LONGEST_PATH} bytes` : undefined;
}

/** Throws ManagedError where a path is one of the others, lies in one, or has one in it. */
function refuseOverlap(mount: string, others: readonly string[], param: string): void {
  const other = others.find((path) => isInTheWay(path, mount));
  if (other !== undefined) throw invalid(`${param}: ${UPLOADS}/${other} is another resource of the session`, param);
}

/** Tells a type by a name, without the encoding that is only supposed. */
const typeOf = (name: string): string => getMimeType(name)?.replace(/;.*/, '') ?? BINARY;

/**
 * Reads the parts of an upload. A part without a name is read as text, which would change other
 * bytes: it is refused. Throws ManagedError.
 */
export async function readUpload(form: FormData): Promise<Upload> {
  const file = form.get('file');
  const other = [...form.keys()].find((name) => name !== 'file');
  if (other === 'expires_in_seconds') throw unsupported(other, 'files do not expire here: delete them');
  if (other !== undefined) throw invalid(`${other.slice(0, 80)}: Extra inputs are not permitted`, other.slice(0, 80));
  if (!(file instanceof File))
    throw invalid('file: give the file as a part of multipart/form-data, with a filename', 'file');
  const type = /^[\w.+-]+\/[\w.+-]+/.exec(file.type)?.[0] ?? '';
  const name = showUnseen(file.name.split(/[/\\]/).at(-1) ?? '').slice(0, LONGEST_NAME);
  const isKnown = type !== '' && type !== BINARY && type.length <= LONGEST_TYPE;
  const mimeType = isKnown ? type : typeOf(name);
  const extension = getExtension(mimeType);
  const filename = name.trim() || (extension === undefined ? 'unnamed' : `unnamed.${extension}`);
  return { filename, mimeType, bytes: new Uint8Array(await file.arrayBuffer()) };
}
