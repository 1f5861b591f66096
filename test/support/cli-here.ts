// The command line in this process: its main function, with streams that are collected.
import { Readable, Writable } from 'node:stream';
import { main } from '../../cli/main.ts';
import type { Io } from '../../cli/cli.ts';

/** `status`: null when a signal ended the process. */
export type Result = { readonly status: number | null; readonly out: string; readonly err: string };

export type Surroundings = Pick<Io, 'cwd' | 'env'> & { readonly input?: string | Buffer };

export async function mainHere(
  args: readonly string[],
  { cwd, env, input = '' }: Surroundings,
): Promise<Result & { readonly status: number }> {
  const [out, err] = [collector(), collector()];
  const io = { stdin: Readable.from([Buffer.from(input)]), stdout: out.stream, stderr: err.stream, env, cwd };
  const status = await main(args, io as unknown as Io);
  return { status, out: out.text(), err: err.text() };
}

function collector() {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      chunks.push(chunk);
      done();
    },
  });
  return { stream, text: () => Buffer.concat(chunks).toString() };
}
