// perdure scripted-model: serves a model that follows a script, for trying things and for tests.
import { reasonOf } from '../../system/text.ts';
import { type Command, InvalidArgumentError } from 'commander';
import type { Cli } from '../cli.ts';
import { STATUS, UsageError } from '../errors.ts';
import { listenForSignals } from '../signals.ts';

type Flags = { readonly script: string; readonly port: number };

export function scriptedModelCommand(program: Command, cli: Cli): void {
  program
    .command('scripted-model')
    .description('serve a scripted model; set ANTHROPIC_BASE_URL to the address it prints')
    .requiredOption('--script <file>', 'the script: see docs/scripted-model.md')
    .option('--port <n>', 'the port to listen on (default: a free one)', portNumber, 0)
    .action(async (flags: Flags) => {
      cli.exit(await serve(cli, flags));
    });
}

async function serve(cli: Cli, { script: file, port }: Flags): Promise<number> {
  const { loadScript, startScriptedModel } = await import('../../scripted-model/index.ts');
  const script = await loadScript(file).catch(refuseStart);
  const signals = listenForSignals(process, (status) => process.exit(status));
  const server = await startScriptedModel({ script, port, keep: 'none', log: cli.say }).catch(refuseStart);
  cli.print(`${server.url}\n`);
  await new Promise<void>((resolve) => {
    for (const signal of [signals.interrupt, signals.terminate]) signal.addEventListener('abort', () => resolve());
  });
  await server.close();
  signals.end();
  return STATUS.ok;
}

/** Words a file that cannot be read or used, and a port that is taken. */
function refuseStart(error: unknown): never {
  throw new UsageError(reasonOf(error));
}

function portNumber(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value > 65_535) throw new InvalidArgumentError('give a port number');
  return value;
}
