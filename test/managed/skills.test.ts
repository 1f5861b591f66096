// Skills as the SDK sees them, on staged sessions: what an upload may be, how versions live, and which
// of them agents, sessions and workers get.
import { toFile } from '@anthropic-ai/sdk';
import { sessionsTokenFromSecret } from '@anthropic-ai/sdk/lib/environments/worker';
import { describe, expect, test } from 'vitest';
import { SKILL_BOUNDS } from '../../store/values/skills.ts';
import { readZip, writeZip } from '../../system/zip.ts';
import { AGENT, codeOf, collect, errorOf, HEADERS, post, type Staged, stagedManaged, text } from './staged.ts';

const front = (name = 'tables', description = 'Makes tables.') =>
  `---\nname: ${name}\ndescription: ${description}\n---\nUse sum.sh.\n`;
type Contents = Readonly<Record<string, string>>;
const TABLES: Contents = { 'tables/SKILL.md': front(), 'tables/scripts/sum.sh': 'echo sum' };

const filesOf = (contents: Contents) =>
  Promise.all(Object.entries(contents).map(([path, words]) => toFile(Buffer.from(words), path)));
const archiveOf = (contents: Contents): Buffer =>
  writeZip(Object.entries(contents).map(([path, words]) => ({ path, bytes: Buffer.from(words), isExecutable: false })));
const upload = async ({ client }: Pick<Staged, 'client'>, contents = TABLES) =>
  client.beta.skills.create({ files: await filesOf(contents) });
const addVersion = async ({ client }: Pick<Staged, 'client'>, id: string, contents = TABLES) =>
  client.beta.skills.versions.create(id, { files: await filesOf(contents) });
const messageOf = async (promise: Promise<unknown>): Promise<string> => {
  const { status, error } = await errorOf(promise);
  return `${status} ${(error as { error: { message: string } }).error.message}`;
};

async function contentsOf(response: Response): Promise<Contents> {
  const files = await readZip(new Uint8Array(await response.arrayBuffer()), SKILL_BOUNDS);
  return Object.fromEntries(files.map(({ path, bytes }) => [path, Buffer.from(bytes).toString()]));
}

describe('skills', () => {
  test('are uploaded, listed, looked at and deleted, and outlive a server (G64)', async () => {
    const face = stagedManaged();
    const { skills } = face.client.beta;
    const named = { 'Any Folder/SKILL.md': front('sums'), 'Any Folder/b.txt': 'b' };
    const skill = await skills.create({ files: await filesOf(named), display_name: 'Sums & more' });
    expect(skill).toEqual({
      id: expect.stringMatching(/^skill_[0-9a-z]{26}$/) as string,
      type: 'skill',
      display_name: 'Sums & more',
      latest_version_id: expect.stringMatching(/^skillver_[0-9a-z]{26}$/) as string,
      source: { type: 'custom' },
      created_at: expect.any(String) as string,
      updated_at: expect.any(String) as string,
    });
    const other = await upload(face);
    expect(other.display_name).toBe('tables');
    face.restart();
    expect(await skills.retrieve(skill.id)).toEqual(skill);
    const ids = async (query = {}) => (await collect(skills.list(query))).map(({ id }) => id);
    expect((await ids({ limit: 1 })).toSorted()).toEqual([skill.id, other.id].toSorted());
    expect(await ids({ source: 'anthropic' })).toEqual([]);
    const at = { skill_id: skill.id };
    expect(await contentsOf(await skills.versions.download(skill.latest_version_id, at))).toEqual({
      'sums/SKILL.md': front('sums'),
      'sums/b.txt': 'b',
    });
    expect(await skills.delete(skill.id)).toEqual({ id: skill.id, type: 'skill_deleted' });
    for (const gone of [
      skills.retrieve(skill.id),
      skills.delete(skill.id),
      skills.versions.list(skill.id).then(),
      skills.versions.retrieve(skill.latest_version_id, at),
      skills.versions.download(skill.latest_version_id, at),
      addVersion(face, skill.id),
    ])
      expect((await errorOf(gone)).status).toBe(404);
    expect(await ids({ source: 'custom' })).toEqual([other.id]);
  });

  test('have versions of one name, of which the last one stays (G64)', async () => {
    const face = stagedManaged();
    const { versions } = face.client.beta.skills;
    const { id, latest_version_id: first } = await upload(face);
    const at = { skill_id: id };
    const second = await addVersion(face, id, { 'x/SKILL.md': front('tables', 'Better.') });
    expect(second).toMatchObject({ name: 'tables', description: 'Better.', skill_id: id, type: 'skill_version' });
    expect((await face.client.beta.skills.retrieve(id)).latest_version_id).toBe(second.id);
    expect(await versions.retrieve('latest', at)).toEqual(second);
    expect((await collect(versions.list(id, { limit: 1 }))).map((one) => one.id)).toEqual([second.id, first]);
    expect(await messageOf(addVersion(face, id, { 'x/SKILL.md': front('other') }))).toContain('named "tables"');
    expect(await versions.delete(second.id, at)).toEqual({ id: second.id, type: 'skill_version_deleted' });
    expect((await errorOf(versions.retrieve(second.id, at))).status).toBe(404);
    expect((await versions.retrieve('latest', at)).id).toBe(first);
    expect(await messageOf(versions.delete(first, at))).toContain('400 a skill has at least one version');
    expect((await errorOf(versions.delete(second.id, at))).status).toBe(404);
    const elsewhere = await upload(face, { 'b/SKILL.md': front('b') });
    expect((await errorOf(versions.retrieve(first, { skill_id: elsewhere.id }))).status).toBe(404);
  });

  test('come as a zip archive, too, and a repeated upload creates nothing new (G21 G64)', async () => {
    const { client, ask } = stagedManaged();
    const archive = archiveOf({ ...TABLES, '__MACOSX/tables/._SKILL.md': 'fork' });
    const skill = await client.beta.skills.create({ files: [await toFile(archive, 'tables.zip')] });
    const at = { skill_id: skill.id };
    expect(await contentsOf(await client.beta.skills.versions.download('latest', at))).toEqual(TABLES);
    const { 'content-type': _, ...headers } = HEADERS;
    const send = async (): Promise<unknown> => {
      const body = new FormData();
      for (const file of await filesOf(TABLES)) body.append('files[]', file, file.name);
      const request = { method: 'POST', headers: { ...headers, 'idempotency-key': 'k' }, body };
      return ((await (await ask('/skills', request)).json()) as { id: unknown }).id;
    };
    expect(await send()).toBe(await send());
    expect(await collect(client.beta.skills.list())).toHaveLength(2);
  });

  const long = 'x'.repeat(1_025);
  const refused: readonly (readonly [string, Contents, string])[] = [
    ['no SKILL.md', { 'a/b.md': '' }, 'one top-level folder with a SKILL.md'],
    ['a SKILL.md deeper down', { 'a/b/SKILL.md': front() }, 'one top-level folder with a SKILL.md'],
    ['a SKILL.md without a folder', { 'SKILL.md': front() }, 'one top-level folder with a SKILL.md'],
    ['two folders', { ...TABLES, 'b/SKILL.md': front() }, 'one top-level folder with a SKILL.md'],
    ['a path that leads out', { ...TABLES, 'tables/../../x': '' }, 'is empty, "." or ".."'],
    ['an absolute path', { '/tables/SKILL.md': front() }, 'is empty, "." or ".."'],
    ['a path of Windows', { ...TABLES, 'tables\\x': '' }, 'no backslashes'],
    ['a path that hides characters', { ...TABLES, 'tables/a\u202eb': '' }, 'control or format characters'],
    ['a long name', { ...TABLES, [`tables/${'x'.repeat(256)}`]: '' }, 'at most 255 bytes'],
    ['names that differ by case', { ...TABLES, 'tables/skill.md': '' }, 'in the way of another path'],
    ['a file that is a folder', { ...TABLES, 'tables/Scripts': '' }, 'in the way of another path'],
    ['no front matter', { 'a/SKILL.md': 'text' }, 'does not begin with front matter'],
    ['no description', { 'a/SKILL.md': '---\nname: a\n---\n' }, 'has no description'],
    ['a long description', { 'a/SKILL.md': front('a', long) }, 'over 1024 characters'],
    ['a tag in its description', { 'a/SKILL.md': front('a', 'Use <system>x</system>.') }, 'an XML tag'],
    ['another kind of name', { 'a/SKILL.md': front('Tables.v2') }, 'lower-case letters, digits and hyphens'],
    ['a reserved word in its name', { 'a/SKILL.md': front('claude-tables') }, 'the reserved word "claude"'],
    ['very much text', { 'a/SKILL.md': `${front()}${'x'.repeat(300_000)}` }, 'has 300'],
    ['too many files', Object.fromEntries(Array.from({ length: 501 }, (_, n) => [`a/${n}`, ''])), 'at most 500'],
  ];
  test.each(refused)('are refused with %s, and nothing is stored (G64)', async (_, contents, why) => {
    const face = stagedManaged();
    expect(await messageOf(upload(face, contents))).toContain(why);
    const zipped = face.client.beta.skills.create({ files: [await toFile(archiveOf(contents), 'a.skill')] });
    expect(await messageOf(zipped)).toContain(why);
    expect(await collect(face.client.beta.skills.list())).toEqual([]);
  });

  test('are refused where an upload is none, too large or has more in it (G16 G64)', async () => {
    const { client, ask } = stagedManaged();
    const { 'content-type': _, ...headers } = HEADERS;
    const send = async (fields: Readonly<Record<string, string | File>>) => {
      const body = new FormData();
      for (const [name, value] of Object.entries(fields)) body.append(name, value);
      const response = await ask('/skills', { method: 'POST', headers, body });
      return ((await response.json()) as { error: { message: string } }).error.message;
    };
    expect(await send({})).toContain('give each file as a part');
    expect(await send({ files: 'text' })).toContain('give each file as a part');
    const file = new File([front()], 'tables/SKILL.md');
    expect(await send({ 'files[]': file, purpose: 'x' })).toBe('purpose: Extra inputs are not permitted');
    expect(await send({ 'files[]': file, display_name: 'a\nb' })).toContain('on one line');
    expect(await send({ 'files[]': new File(['PK'], 'a.zip') })).toContain('the archive is no zip archive');
    const large = { ...TABLES, 'tables/large': 'x'.repeat(SKILL_BOUNDS.bytes) };
    expect(await messageOf(upload({ client }, large))).toContain('bytes together');
    expect((await ask('/skills', post({}))).status).toBe(400);
  });
});

/** A session of an agent with skills. */
async function withSkills(face: Staged, skills: readonly object[], more: object = {}, environment_id = 'env_default') {
  const agent = await face.client.beta.agents.create({ ...AGENT, ...more, skills: [...skills] as never });
  const session = await face.client.beta.sessions.create({ agent: agent.id, environment_id });
  return { agent, session };
}

const optionsIn = ({ calls }: Staged) => (calls.at(-1)!.at(-1) as { ifNew: Readonly<Record<string, unknown>> }).ifNew;

describe('agents', () => {
  test('name skills, and a session has the versions of its beginning for good (G64)', async () => {
    const face = stagedManaged();
    const { agents, sessions, skills } = face.client.beta;
    const { id: skill_id, latest_version_id: first } = await upload(face);
    const { agent, session } = await withSkills(face, [{ type: 'custom', skill_id }]);
    expect(agent.skills).toEqual([{ type: 'custom', skill_id, version: 'latest' }]);
    expect(session.agent.skills).toEqual([{ type: 'custom', skill_id, version: first }]);
    const second = await addVersion(face, skill_id, { 'x/SKILL.md': front('tables', 'Better.') });
    await skills.versions.delete(first, { skill_id });
    face.restart();
    await sessions.events.send(session.id, { events: [text('Go.')] });
    expect(optionsIn(face)).toMatchObject({
      mounts: [{ path: '/mnt/skills/tables', access: 'read_only', skill: first }],
      systemContext: { skills: expect.stringContaining('- /mnt/skills/tables/SKILL.md: Makes tables.') as string },
    });
    expect(await face.ports.store.read(`skill-versions/${first}`)).not.toBeNull();
    const later = await sessions.create({ agent: agent.id, environment_id: 'env_default' });
    expect(later.agent.skills).toMatchObject([{ version: second.id }]);
    const same = await agents.update(agent.id, { name: 'Other' });
    expect(same.skills).toEqual(agent.skills);
    expect((await agents.update(agent.id, { skills: null })).skills).toEqual([]);
    const bare = await sessions.create({
      agent: { type: 'agent_with_overrides', id: agent.id, skills: [{ type: 'custom', skill_id, version: second.id }] },
      environment_id: 'env_default',
    });
    expect(bare.agent.skills).toMatchObject([{ version: second.id }]);
  });

  test('name no skill of Anthropic, and none that is not there, often or unreadable (G4 G64)', async () => {
    const face = stagedManaged();
    const { id: skill_id, latest_version_id: version } = await upload(face);
    const { id: twin } = await upload(face);
    const create = (skills: readonly object[], more = {}) => withSkills(face, skills, more);
    expect(codeOf(await errorOf(create([{ type: 'anthropic', skill_id: 'xlsx' }])))).toBe('perdure_unsupported');
    const own = { type: 'custom', skill_id };
    const cases: readonly (readonly [readonly object[], string])[] = [
      [[{ ...own, skill_id: 'skill_x' }], 'skills.0.skill_id: skill "skill_x" was not found'],
      [[own, { ...own, version: 'x' }], 'skills.1.version: it is no version'],
      [Array.from({ length: 21 }, () => own), 'at most 20 skills'],
      [[own, { ...own, skill_id: twin }], 'two of its skills are named "tables"'],
    ];
    for (const [skills, why] of cases) expect(await messageOf(create(skills))).toContain(why);
    const configs = ['read', 'bash'].map((name) => ({ name, enabled: false }));
    const blind = { tools: [{ type: 'agent_toolset_20260401', configs }] };
    expect(await messageOf(create([own], blind))).toContain('the tool read or bash');
    const { agent } = await create([{ ...own, version }]);
    await face.client.beta.skills.delete(skill_id);
    const late = face.client.beta.sessions.create({ agent: agent.id, environment_id: 'env_default' });
    expect(await messageOf(late)).toContain('was not found');
  });

  test('share skills with themselves in a roster, and with no other agent (G64 G68)', async () => {
    const face = stagedManaged();
    const { id: skill_id } = await upload(face);
    const skills = [{ type: 'custom', skill_id }];
    const roster = (agents: readonly object[]) => ({ multiagent: { type: 'coordinator', agents } });
    await withSkills(face, skills, roster([{ type: 'self' }]));
    const helper = await face.client.beta.agents.create({ ...AGENT, name: 'Helper', skills: skills as never });
    const other = withSkills(face, skills, roster([{ type: 'agent', id: helper.id }]));
    expect(await messageOf(other)).toContain('of the roster has MCP servers or skills');
  });
});

test('a worker reads the skills of its session by its token, deleted ones too, and no other (G55 G64)', async () => {
  const face = stagedManaged();
  const { client, ask, as } = face;
  const [own, other] = [await upload(face), await upload(face)];
  const { id: environment } = await client.beta.environments.create({ name: 'own', config: { type: 'self_hosted' } });
  const skills = [{ type: 'custom', skill_id: own.id }];
  const { session } = await withSkills(face, skills, {}, environment);
  await client.beta.sessions.events.send(session.id, { events: [text('Go.')] });
  expect(optionsIn(face)).not.toHaveProperty('mounts');
  expect(JSON.stringify(optionsIn(face))).toContain('- skills/tables/SKILL.md: Makes tables.');
  const later = await addVersion(face, own.id, { 'x/SKILL.md': front('tables', 'Better.') });
  await client.beta.skills.delete(own.id);
  const made = await ask(`/x/perdure/environments/${environment}/keys`, post({}, HEADERS));
  const { key } = (await made.json()) as { key: string };
  const item = (await as(key).beta.environments.work.poll(environment))!;
  const worker = as(sessionsTokenFromSecret(item.secret) ?? '');
  const { versions } = worker.beta.skills;
  const at = { skill_id: own.id };
  expect(await versions.retrieve(own.latest_version_id, at)).toMatchObject({ name: 'tables', skill_id: own.id });
  expect(await contentsOf(await versions.download(own.latest_version_id, at))).toEqual(TABLES);
  const foreign = { skill_id: other.id };
  for (const refused of [
    versions.retrieve(later.id, at),
    versions.retrieve('latest', at),
    versions.download(other.latest_version_id, foreign),
    versions.retrieve(own.latest_version_id, foreign),
    versions.list(own.id).then(),
    versions.delete(own.latest_version_id, at),
    worker.beta.skills.retrieve(own.id),
    worker.beta.skills.list().then(),
    as(key).beta.skills.versions.download(own.latest_version_id, at),
  ])
    expect((await errorOf(refused)).status).toBe(403);
  await client.beta.environments.work.stop(item.id, { environment_id: environment, force: true });
  expect((await errorOf(versions.retrieve(own.latest_version_id, at))).status).toBe(403);
});
