// Captures folders for a worker, in a process confined like the commands of agents: it reads what
// an agent may read. It takes one request from its arguments, or one per line of JSON from its
// input until that ends, and answers each with a line.
import { createInterface } from 'node:readline';
import { nameFullDisk } from '../../system/full-disk.ts';
import { reasonOf } from '../../system/text.ts';
import { RecentMap } from '../../system/recent-map.ts';
import { FolderCapture, type CaptureRequest, type Snapshot } from './capture-folder.ts';
import { OutOfBounds } from './folder-index.ts';
import { FolderWatch } from './folder-watch.ts';

export type CaptureAnswer =
  | {
      readonly kind: 'done';
      readonly snapshot: Snapshot;
      /** A line for the log of the worker. */
      readonly notice?: string;
    }
  | { readonly kind: 'failed'; readonly problem: string; readonly isOutOfBounds: boolean };

/** Folders of which it is known in memory what lies in them. */
const MOST_FOLDERS = 20;
/** Milliseconds without a request after which the known state is saved. */
const SAVE_MS = 2_000;

const folders = new RecentMap<string, FolderCapture>(MOST_FOLDERS, closeFolder);

const requestText = process.argv[2];
if (requestText === undefined) await answerLines();
else {
  await answer(JSON.parse(requestText) as CaptureRequest);
  closeFolders();
}

async function answerLines(): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  for await (const line of createInterface({ input: process.stdin })) {
    clearTimeout(timer);
    await answer(JSON.parse(line) as CaptureRequest);
    timer = setTimeout(saveAll, SAVE_MS);
  }
  clearTimeout(timer);
  closeFolders();
}

async function answer(request: CaptureRequest): Promise<void> {
  const result = await captureRequest(request);
  // Names are bytes: what carries the answer need not know in which encoding.
  const text = JSON.stringify(result).replace(/[\x7f-\uffff]/g, escapeUnit);
  process.stdout.write(`${text}\n`);
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

async function captureRequest(request: CaptureRequest): Promise<CaptureAnswer> {
  const { own } = request.place;
  const folder = folders.get(own) ?? new FolderCapture(request);
  folders.set(own, folder);
  try {
    const snapshot = await folder.capture(request);
    const notice = FolderWatch.takeShortage();
    return { kind: 'done', snapshot, ...(notice !== null && { notice }) };
  } catch (error) {
    return { kind: 'failed', problem: nameFullDisk(reasonOf(error), own), isOutOfBounds: error instanceof OutOfBounds };
  }
}

function saveAll(): void {
  for (const folder of folders.values()) saveFolder(folder);
}

function saveFolder(folder: FolderCapture): void {
  try {
    folder.save();
  } catch (error) {
    process.stderr.write(`what is known of a folder was not kept: ${reasonOf(error)}\n`);
  }
}

function closeFolder(folder: FolderCapture): void {
  saveFolder(folder);
  folder.close();
}

function closeFolders(): void {
  for (const folder of folders.values()) closeFolder(folder);
}
