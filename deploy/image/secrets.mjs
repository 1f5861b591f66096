// Puts the secrets of a deployment where Perdure takes them: in the data folder, readable by its
// user alone.
//
//     node secrets.mjs make DIR NAME   makes what is missing: keys of payloads, a certificate for NAME
//                                      that it signs itself, and a token of a person called `ops`
//     node secrets.mjs copy FROM DIR   copies mounted files, which others may own and read
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

/** The user of the image: what root makes is given to it. */
const USER = 10_001;

const [how, ...rest] = process.argv.slice(2);
if (how === 'make') make(...rest);
else if (how === 'copy') copy(...rest);
else fail('say `make DIR NAME` or `copy FROM DIR`');

function make(folder = fail('which folder?'), name = fail('which name do people open?')) {
  openFolder(folder);
  const id = randomBytes(4).toString('hex');
  const keys = { active: id, keys: [{ id, key: randomBytes(32).toString('base64') }] };
  writeOnce(join(folder, 'payload-keys.json'), JSON.stringify(keys));
  const people = [{ name: 'ops', role: 'steer', token: randomBytes(32).toString('hex') }];
  writeOnce(join(folder, 'people.json'), JSON.stringify(people));
  const [cert, key] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
  if (!existsSync(cert)) signCertificate({ cert, key, name });
  for (const path of [cert, key]) own(path, 0o600);
}

function signCertificate({ cert, key, name }) {
  const names = `subjectAltName=DNS:${name},DNS:localhost,DNS:serve`;
  const request = ['-newkey', 'rsa:2048', '-nodes', '-days', '365', '-subj', `/CN=${name}`, '-addext', names];
  execFileSync('openssl', ['req', '-x509', ...request, '-keyout', key, '-out', cert], { stdio: 'pipe' });
}

function copy(from = fail('from where?'), folder = fail('into which folder?')) {
  openFolder(folder);
  for (const name of readdirSync(from)) {
    const path = join(from, name);
    // A mounted secret has links and folders of its own beside its files.
    if (name.startsWith('..') || !statSync(path).isFile()) continue;
    copyFileSync(path, join(folder, name));
    own(join(folder, name), 0o600);
  }
}

function openFolder(folder) {
  // Each folder that is made is its user's alone, the data folder above among them.
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  own(folder, 0o700);
}

function writeOnce(path, text) {
  if (!existsSync(path)) writeFileSync(path, `${text}\n`, { mode: 0o600 });
  own(path, 0o600);
}

function own(path, mode) {
  const owner = statSync(path).uid;
  if (process.getuid() === 0 && owner !== USER) chownSync(path, USER, USER);
  if (process.getuid() === 0 || owner === process.getuid()) chmodSync(path, mode);
}

function fail(why) {
  process.stderr.write(`secrets: ${why}\n`);
  process.exit(2);
}
