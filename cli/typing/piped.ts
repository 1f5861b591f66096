// Reads what is piped into a command in addition to its task. It does not wait for a standard input
// that stays open without data, as programs often leave it for their children.
import { fstatSync } from 'node:fs';

/** Milliseconds within which the first data must come. */
const LOOK_MS = 1_000;
/** Milliseconds after which people are told what the command waits for. */
const TELL_MS = 5_000;

type Stdin = NodeJS.ReadStream & { readonly fd?: number };
type Piped = { readonly stdin: Stdin; readonly say: (line: string) => void };

/**
 * Returns null when nothing is piped in, or when nothing has come yet, which is said. Once data has
 * come it is read to its end.
 */
export async function readPiped({ stdin, say }: Piped): Promise<Buffer | null> {
  const kind = kindOf(stdin);
  if (kind === 'none') return null;
  const chunks: Uint8Array[] = [];
  const end = new Promise<'ended'>((resolve, reject) => {
    stdin.once('end', () => resolve('ended')).once('error', reject);
  });
  const start = new Promise<'begun'>((resolve) => {
    stdin.on('data', (chunk: Uint8Array) => {
      chunks.push(chunk);
      resolve('begun');
    });
  });
  const look = afterMs(LOOK_MS);
  const first = await Promise.race([end, start, ...(kind === 'file' ? [] : [look.over])]);
  look.end();
  if (first === 'late') {
    stdin.removeAllListeners('data').pause();
    stdin.unref();
    if (kind === 'pipe')
      say(
        `nothing came from standard input within ${LOOK_MS / 1_000} s, and it is not read: - as the text waits for it`,
      );
    return null;
  }
  const tell = setTimeout(() => say('still reading standard input'), TELL_MS);
  await end.finally(() => clearTimeout(tell));
  return chunks.length === 0 ? null : Buffer.concat(chunks);
}

/** Programs mostly give their children a socket. */
function kindOf({ fd, isTTY }: Stdin): 'file' | 'pipe' | 'socket' | 'none' {
  if (isTTY || fd === undefined) return 'none';
  try {
    const stat = fstatSync(fd);
    if (stat.isFile()) return 'file';
    if (stat.isFIFO()) return 'pipe';
    return stat.isSocket() ? 'socket' : 'none';
  } catch {
    // The descriptor is closed, or not a file of this process.
    return 'none';
  }
}

function afterMs(ms: number): { readonly over: Promise<'late'>; end(): void } {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<'late'>((resolve) => (timer = setTimeout(() => resolve('late'), ms)));
  return { over, end: () => clearTimeout(timer) };
}

/** Adds piped text behind the prompt, within marks that the text cannot close. */
export function withPiped(text: string, piped: string): string {
  const marked = piped.replaceAll(/<(?=\/?standard_input>)/gi, '&lt;');
  return `${text}\n\n<standard_input>\n${marked.replace(/\n$/, '')}\n</standard_input>`;
}
