// Zip archives of plain files. An archive is read by its central directory alone and within bounds.
// One that is written stores files as they are: equal files make equal bytes.
import { promisify } from 'node:util';
// An older Node refuses the import of a name that it lacks before perdure can say what it needs.
import zlib from 'node:zlib';

/** `path` is relative, with slashes. */
export type ZipFile = { readonly path: string; readonly bytes: Uint8Array; readonly isExecutable: boolean };

/** `bytes`: of all files together. */
type Bounds = { readonly files: number; readonly bytes: number };

/** The message is the end of a sentence about the archive. */
export class ZipError extends Error {
  override readonly name = 'ZipError';
}

const END = 0x06054b50;
const CENTRAL = 0x02014b50;
const LOCAL = 0x04034b50;
const END_BYTES = 22;
const CENTRAL_BYTES = 46;
const LOCAL_BYTES = 30;
const LONGEST_COMMENT = 0xffff;

const UNIX = 3;
const ENCRYPTED = 0x1;
const UTF8 = 0x800;
const STORED = 0;
const DEFLATED = 8;
const FILE_TYPE = 0o170000;
const REGULAR = 0o100000;
const FOLDER = 0o040000;

/** Returns the files, without folders. Paths are as the archive has them. Throws ZipError. */
export async function readZip(bytes: Uint8Array, bounds: Bounds): Promise<readonly ZipFile[]> {
  const archive = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const members = readDirectory(archive).filter(({ path }) => !path.endsWith('/'));
  if (members.length > bounds.files) throw new ZipError(`has ${members.length} files: at most ${bounds.files}`);
  const size = members.reduce((sum, one) => sum + one.size, 0);
  if (size > bounds.bytes) throw new ZipError(`has files of ${size} bytes together: at most ${bounds.bytes}`);
  const files: ZipFile[] = [];
  for (const member of members) files.push(await readMember(archive, member));
  return files;
}

type Member = {
  readonly path: string;
  readonly method: number;
  readonly crc: number;
  readonly packed: number;
  readonly size: number;
  readonly at: number;
  readonly isExecutable: boolean;
};

function readDirectory(archive: Buffer): readonly Member[] {
  const end = sliceAt(archive, findEnd(archive), END_BYTES);
  const count = end.readUInt16LE(10);
  let at = end.readUInt32LE(16);
  if (end.readUInt16LE(4) !== 0 || count === 0xffff || at === 0xffffffff)
    throw new ZipError('is of several parts or a zip64 archive');
  const members: Member[] = [];
  for (let n = 0; n < count; n += 1) {
    const head = sliceAt(archive, at, CENTRAL_BYTES);
    if (head.readUInt32LE(0) !== CENTRAL) throw new ZipError('is damaged');
    const [name, extra, comment] = [28, 30, 32].map((place) => head.readUInt16LE(place)) as [number, number, number];
    members.push(readEntry(head, decodeName(sliceAt(archive, at + CENTRAL_BYTES, name))));
    at += CENTRAL_BYTES + name + extra + comment;
  }
  return members;
}

function readEntry(head: Buffer, path: string): Member {
  const mode = head.readUInt8(5) === UNIX ? head.readUInt16LE(40) : 0;
  const type = mode & FILE_TYPE;
  const quoted = JSON.stringify(path.slice(0, 200));
  if (![0, REGULAR, FOLDER].includes(type)) throw new ZipError(`has ${quoted}, which is no plain file`);
  if ((head.readUInt16LE(8) & ENCRYPTED) !== 0) throw new ZipError(`has ${quoted}, which is encrypted`);
  return {
    path,
    method: head.readUInt16LE(10),
    crc: head.readUInt32LE(16),
    packed: head.readUInt32LE(20),
    size: head.readUInt32LE(24),
    at: head.readUInt32LE(42),
    isExecutable: (mode & 0o111) !== 0,
  };
}

/** Finds the record at the end, which a comment may follow. */
function findEnd(archive: Buffer): number {
  const first = Math.max(0, archive.length - END_BYTES - LONGEST_COMMENT);
  for (let at = archive.length - END_BYTES; at >= first; at -= 1) if (archive.readUInt32LE(at) === END) return at;
  throw new ZipError('is no zip archive');
}

async function readMember(archive: Buffer, { path, method, crc, packed, size, at, ...rest }: Member): Promise<ZipFile> {
  const head = sliceAt(archive, at, LOCAL_BYTES);
  if (head.readUInt32LE(0) !== LOCAL) throw new ZipError('is damaged');
  const data = sliceAt(archive, at + LOCAL_BYTES + head.readUInt16LE(26) + head.readUInt16LE(28), packed);
  const bytes = await unpackData(data, method, size);
  if (bytes.length !== size || zlib.crc32(bytes) !== crc) throw new ZipError('is damaged');
  return { path, bytes, isExecutable: rest.isExecutable };
}

const inflate = promisify<Buffer, { maxOutputLength: number }, Buffer>(zlib.inflateRaw);

/** Stops at the size that the directory says. */
async function unpackData(data: Buffer, method: number, size: number): Promise<Buffer> {
  if (method === STORED) return data;
  if (method !== DEFLATED) throw new ZipError(`is packed by method ${method}: only stored and deflated files are read`);
  try {
    return await inflate(data, { maxOutputLength: Math.max(1, size) });
  } catch (error) {
    throw new ZipError('is damaged', { cause: error });
  }
}

function sliceAt(archive: Buffer, at: number, length: number): Buffer {
  if (at + length > archive.length) throw new ZipError('is damaged');
  return archive.subarray(at, at + length);
}

function decodeName(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new ZipError('has a name that is no UTF-8', { cause: error });
  }
}

/** The first of January 1980, the earliest that an archive can say. */
const DATE = 0x21;

/** Returns an archive of the files in their order. */
export function writeZip(files: readonly ZipFile[]): Buffer {
  const [parts, directory]: [Buffer[], Buffer[]] = [[], []];
  let at = 0;
  for (const { path, bytes, isExecutable } of files) {
    const name = Buffer.from(path);
    const facts = Buffer.alloc(26);
    facts.writeUInt16LE(20, 0);
    facts.writeUInt16LE(UTF8, 2);
    facts.writeUInt16LE(DATE, 8);
    facts.writeUInt32LE(zlib.crc32(bytes), 10);
    facts.writeUInt32LE(bytes.length, 14);
    facts.writeUInt32LE(bytes.length, 18);
    facts.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([encodeUint32(LOCAL), facts, name]);
    const place = Buffer.alloc(14);
    place.writeUInt32LE((REGULAR | (isExecutable ? 0o755 : 0o644)) * 0x10000, 6);
    place.writeUInt32LE(at, 10);
    directory.push(encodeUint32(CENTRAL), Buffer.from([20, UNIX]), facts, place, name);
    parts.push(local, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    at += local.length + bytes.length;
  }
  const entries = Buffer.concat(directory);
  const end = Buffer.alloc(END_BYTES);
  end.writeUInt32LE(END, 0);
  end.writeUInt16LE(files.length, 8);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(entries.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...parts, entries, end]);
}

function encodeUint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value, 0);
  return bytes;
}
