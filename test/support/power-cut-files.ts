// A file system that loses what was not flushed: after a cut, a file has its flushed bytes and a
// folder its flushed names, and of the other names whichever it pleases. Stricter than any real
// one, so what survives here survives everywhere.
import { posix } from 'node:path';
import type { Files } from '../../store/values/file-io.ts';

type File = { readonly bytes: Uint8Array; flushed: boolean };
type Node = File | Folder;
/** `flushed` holds a name as it was when the latest finished flush was asked for. */
type Folder = {
  readonly names: Map<string, Node>;
  readonly flushed: Map<string, { readonly node: Node; readonly asked: number }>;
  asked: number;
};

export type PowerCutFiles = Files & {
  /** Operations so far. */
  readonly operations: () => number;
  /**
   * What is there after the cut: everything flushed, and what `spares` says of the names that were
   * not.
   */
  survivor(spares?: (path: string) => boolean): PowerCutFiles;
};

export class PowerCut extends Error {}

/** Every operation after the first `cutAfter` throws PowerCut. */
export function powerCutFiles(cutAfter = Infinity, root: Folder = newFolder()): PowerCutFiles {
  const open = new Map<number, File>();
  let operations = 0;
  const step = (): void => {
    operations += 1;
    if (operations > cutAfter) throw new PowerCut();
  };
  const { find, folder, parent, file } = treeOf(root);
  const name = (path: string): string => posix.basename(path);

  return {
    operations: () => operations,
    survivor: (spares = () => false) => powerCutFiles(Infinity, afterCut(root, '', spares)),
    write: async (path, bytes) => {
      step();
      if (find(path)) throw errno('EEXIST', path);
      const made = { bytes: bytes.slice(), flushed: false };
      parent(path).names.set(name(path), made);
      open.set(operations, made);
      return operations;
    },
    flush: async (descriptor) => {
      await aWhile();
      step();
      (open.get(descriptor) as File).flushed = true;
    },
    close: (descriptor) => void open.delete(descriptor),
    flushFolder: async (path) => {
      const found = folder(path);
      const there = [...found.names];
      found.asked += 1;
      const asked = found.asked;
      await aWhile();
      step();
      for (const [each, node] of there) {
        if ((found.flushed.get(each)?.asked ?? 0) < asked) found.flushed.set(each, { node, asked });
      }
    },
    link: (from, to) => {
      step();
      if (find(to)) throw errno('EEXIST', to);
      parent(to).names.set(name(to), file(from));
    },
    rename: (from, to) => {
      step();
      parent(to).names.set(name(to), file(from));
      parent(from).names.delete(name(from));
    },
    unlink: (path) => {
      step();
      if (!parent(path).names.delete(name(path))) throw errno('ENOENT', path);
    },
    makeFolder: (path) => {
      step();
      let at = root;
      for (const part of posix.normalize(path).split('/').filter(Boolean)) {
        if (!at.names.has(part)) at.names.set(part, newFolder());
        at = at.names.get(part) as Folder;
      }
    },
    exists: (path) => (step(), find(path) !== undefined),
    renew: (path) => (step(), find(path) !== undefined),
    read: async (path) => (step(), file(path).bytes.slice()),
    readNow: (path) => (step(), file(path).bytes.slice()),
    ages: (path) => (step(), [...folder(path).names.keys()].map((each) => ({ name: each, age: 0 }))),
  };
}

function treeOf(root: Folder) {
  const find = (path: string): Node | undefined => {
    const parts = posix.normalize(path).split('/').filter(Boolean);
    return parts.reduce<Node | undefined>((at, name) => (at && 'names' in at ? at.names.get(name) : undefined), root);
  };
  const folder = (path: string): Folder => {
    const found = find(path);
    if (!found || !('names' in found)) throw errno('ENOENT', path);
    return found;
  };
  const parent = (path: string): Folder => folder(posix.dirname(path));
  const file = (path: string): File => {
    const found = find(path);
    if (!found || 'names' in found) throw errno('ENOENT', path);
    return found;
  };
  return { find, folder, parent, file };
}

/** A flush takes its time: others work meanwhile, and what they do is not part of it. */
async function aWhile(): Promise<void> {
  for (let moment = 0; moment < 50; moment += 1) await Promise.resolve();
}

function newFolder(): Folder {
  return { names: new Map(), flushed: new Map(), asked: 0 };
}

function afterCut(root: Folder, path: string, spares: (path: string) => boolean): Folder {
  const survivor = newFolder();
  const unflushed = [...root.names].filter(([name]) => spares(`${path}/${name}`));
  const flushed = [...root.flushed].map(([name, { node }]) => [name, node] as const);
  for (const [name, node] of new Map([...flushed, ...unflushed])) {
    const kept =
      'names' in node
        ? afterCut(node, `${path}/${name}`, spares)
        : { bytes: node.flushed ? node.bytes : new Uint8Array(), flushed: true };
    survivor.names.set(name, kept);
    survivor.flushed.set(name, { node: kept, asked: 0 });
  }
  return survivor;
}

function errno(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code });
}
