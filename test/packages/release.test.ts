// What a release publishes: the tarball by the command of `npm run release`, and its bill of
// materials.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { root, runProgram } from './empty-project.ts';

type Manifest = Readonly<Record<'dependencies' | 'peerDependencies' | 'scripts', Record<string, string>>> & {
  readonly name: string;
  readonly version: string;
};

type Component = { readonly name: string; readonly version: string; readonly purl: string } & Readonly<
  Partial<Record<'licenses' | 'hashes', readonly object[]>>
> & { readonly 'bom-ref': string };

type Bill = {
  readonly bomFormat: string;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
};

const readJson = (path: string): unknown => JSON.parse(readFileSync(join(root, path), 'utf8'));
const { name, version, dependencies, peerDependencies, scripts } = readJson('package.json') as Manifest;
const { packages: lock } = readJson('package-lock.json') as {
  readonly packages: Record<string, { readonly version: string; readonly license?: string }>;
};

test('the bill of materials has each package that an install brings, as it was tested, with licence and hash (Q1)', async () => {
  const written = await runProgram(process.execPath, ['deploy/release/write-sbom.mjs', inject('tarball')], {
    cwd: root,
  });
  expect(written).toMatchObject({ status: 0, err: '' });
  const bill = JSON.parse(written.out) as Bill;
  expect(bill).toMatchObject({
    bomFormat: 'CycloneDX',
    metadata: { component: { name, version, purl: expect.stringContaining(`pkg:npm/perdure@${version}`) as string } },
  });
  const listed = bill.components.map((component) => `${component.name} ${component.version}`);
  const direct = Object.keys({ ...dependencies, ...peerDependencies });
  expect(listed).toEqual(
    expect.arrayContaining(direct.map((each) => `${each} ${lock[`node_modules/${each}`]?.version}`)),
  );
  const tested = new Map(
    Object.entries(lock).map(([path, entry]) => [`${path.replace(/.*node_modules\//, '')} ${entry.version}`, entry]),
  );
  const entryOf = (each: Component) => tested.get(`${each.name} ${each.version}`);
  expect(bill.components.filter((each) => entryOf(each) === undefined || !each.hashes?.length)).toEqual([]);
  const unlicensed = bill.components.filter(({ licenses }) => !licenses?.length);
  expect(unlicensed.filter((each) => entryOf(each)?.license !== undefined)).toEqual([]);
  const digest = createHash('sha512')
    .update(readFileSync(inject('tarball')))
    .digest('hex');
  expect(bill.metadata.component.hashes).toEqual([{ alg: 'SHA-512', content: digest }]);
  expect(listed.filter((each) => /^(?:typescript|vitest|perdure) /.test(each))).toEqual([]);
  const refs = new Set([bill.metadata.component, ...bill.components].map((each) => each['bom-ref']));
  const edges = bill.dependencies.flatMap(({ ref, dependsOn }) => [ref, ...dependsOn]);
  expect(edges.filter((ref) => !refs.has(ref))).toEqual([]);
});

test('the command of `npm run release` publishes the packed tarball, tried without a registry (Q1)', async () => {
  const command = scripts['release']?.split(' ') ?? [];
  expect(command).toEqual(['npm', 'publish', '--provenance', '--access', 'public', 'perdure-$npm_package_version.tgz']);
  const args = [...command.slice(1, -1), '--dry-run', inject('tarball')];
  const dry = await runProgram('npm', args, { cwd: root });
  expect(dry).toMatchObject({ status: 0, out: expect.stringContaining(`perdure@${version}`) as string });
  expect(dry.err).toMatch(/with tag latest and public access \(dry-run\)/);
});
