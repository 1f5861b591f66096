// Writes the bill of materials of a packed tarball as CycloneDX: what an install of it brings, its
// peers included, in the versions of the lock file that it was tested with.
//
//     node write-sbom.mjs TARBALL > sbom.json
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
const tarball = process.argv[2];
if (tarball === undefined) {
  process.stderr.write('write-sbom.mjs needs a packed tarball: npm pack, then npm run sbom -- perdure-VERSION.tgz\n');
  process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), 'perdure-sbom-'));
try {
  copyFileSync(join(root, 'package-lock.json'), join(folder, 'package-lock.json'));
  writeFileSync(join(folder, 'package.json'), manifestOf(resolve(tarball)));
  npm('install', '--package-lock-only', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund');
  const bill = npm('sbom', '--package-lock-only', '--omit=dev', '--sbom-format=cyclonedx');
  process.stdout.write(`${JSON.stringify(aboutPerdure(JSON.parse(bill)), null, 2)}\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** @param {string} path */
function manifestOf(path) {
  const program = join(root, 'deploy/image/write-manifest.mjs');
  return execFileSync(process.execPath, [program, join(root, 'package.json'), path], { encoding: 'utf8' });
}

/** @param {readonly string[]} args */
function npm(...args) {
  return execFileSync('npm', args, { cwd: folder, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
}

/**
 * Makes the package itself what the bill is about, in place of the project that it was installed
 * into.
 * @param {{ metadata: Record<string, any>, components: any[], dependencies: any[] }} bill
 */
function aboutPerdure(bill) {
  const project = bill.metadata.component['bom-ref'];
  const own = bill.components.find(({ name }) => name === 'perdure');
  const { dependsOn } = bill.dependencies.find(({ ref }) => ref === project);
  const peers = dependsOn.filter((/** @type {string} */ ref) => ref !== own['bom-ref']);
  const dependencies = bill.dependencies
    .filter(({ ref }) => ref !== project)
    .map((each) =>
      each.ref === own['bom-ref'] ? { ...each, dependsOn: [...new Set([...each.dependsOn, ...peers])] } : each,
    );
  const components = bill.components.filter((each) => each !== own).map(withLicence);
  const { externalReferences: _, ...component } = own;
  return { ...bill, metadata: { ...bill.metadata, component }, components, dependencies };
}

/**
 * Names a licence that npm leaves out of the bill because it is no SPDX expression.
 * @param {any} component
 */
function withLicence(component) {
  if (component.licenses?.length > 0) return component;
  const path = Object.keys(lock).find(
    (each) => each.endsWith(`node_modules/${component.name}`) && lock[each].version === component.version,
  );
  const name = path && lock[path].license;
  return name ? { ...component, licenses: [{ license: { name } }] } : component;
}
