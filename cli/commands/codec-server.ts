// perdure codec-server: opens sealed payloads for Temporal's own UI and command line.
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import type { CodecFlags } from '../../page/codec/serve-codec.ts';
import { listenForSignals, waitForAbort } from '../signals.ts';
import { STATUS } from '../errors.ts';
import { addValue } from '../repeatable.ts';

export function codecServerCommand(program: Command, cli: Cli): void {
  program
    .command('codec-server')
    .description("open sealed payloads for Temporal's own UI and command line; runs until stopped")
    .option('--listen <address>', 'where it listens: host:port (default: 127.0.0.1:8081)')
    .option('--cert <file>', 'a certificate in PEM; needed where other machines reach it')
    .option('--key <file>', 'its key in PEM; it lies in the data folder, which commands of agents do not see')
    .option('--tokens <file>', 'JSON, in the data folder: name, role and token of each who may decode, as for a page')
    .option('--origin <origin>', 'a site whose pages may ask, such as https://cloud.temporal.io; repeatable', addValue)
    .option('--oidc-issuer <url>', 'an OpenID provider whose access tokens may decode')
    .option('--oidc-audience <name>', 'the audience of these tokens')
    .option('--oidc-allow <claim=value>', 'whose tokens, as in email=ana@example.com; repeatable', addValue)
    .option('--encode', 'seal payloads, too, for the workflow that the header X-Workflow-Id names')
    .action(async (flags: CodecFlags) => {
      const { serveCodec } = await import('../../page/codec/serve-codec.ts');
      const signals = listenForSignals(process, (status) => process.exit(status));
      const served = await serveCodec(cli, flags);
      cli.print(`codec server of namespace ${served.namespace}: ${served.url}\n`);
      await waitForAbort(AbortSignal.any([signals.interrupt, signals.terminate]));
      await served.close();
      signals.end();
      cli.exit(STATUS.ok);
    });
}
