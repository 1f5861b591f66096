import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { test } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { cliPlace, modelFor, readyWorker } from '../support/cli.ts';
import { serveManaged } from './served.ts';
test('notebook', async () => {
  const says = (grade: string, why: string) => reply(JSON.stringify({ grade, why }));
  const write = (content: string) => reply([toolUse('write', { file_path: '/mnt/session/outputs/brief.md', content })]);
  const model = await modelFor([
    write('Draft.'), reply('Done.'), says('not_met', 'Coverage 6/7.\n- Item 5 - MISSING.'),
    write('Revision.'), reply('Revised.'), says('met', 'Coverage 7/7. Citations 6/6 verified.'),
  ]);
  const place = cliPlace(model);
  const client = await serveManaged(place);
  await readyWorker(place);
  for (const asIs of ['1', '']) {
    const env = { ...process.env, ANTHROPIC_BASE_URL: client.baseURL, ANTHROPIC_API_KEY: String(client.apiKey), AS_IS: asIs };
    const { stdout, stderr } = await promisify(execFile)('/tmp/outcome-nb/v/bin/python', ['/tmp/outcome-nb/cells.py'], { env }).catch((e) => e);
    process.stdout.write(`\n##### AS_IS=${asIs}\n${stdout}\n${stderr}\n`);
  }
}, 120_000);
