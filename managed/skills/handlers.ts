// What the routes of skills do (G64), for people and, of the skills of its session, for a worker of a
// self-hosted environment.
import { createHash } from 'node:crypto';
import type { BetaSkill, BetaSkillVersion } from '@anthropic-ai/sdk/resources/beta/skills';
import { ManagedError } from '../errors.ts';
import { newId } from '../ids.ts';
import { type ListRequest, pageOf, placeOf } from '../pages.ts';
import { filterOf, type Handler, idIn, type ManagedRequest, type Paged, pageIn, type Parts } from '../request.ts';
import { reserveIds } from '../request-log.ts';
import { pageQuery, skillList } from '../shapes/agents.ts';
import { parseQuery } from '../shapes/parse.ts';
import type { ServedName } from '../surface.ts';
import { showSkill, type VersionIds } from './skill-resources.ts';
import { readSkillUpload, type SkillUpload } from './upload.ts';

const skillIn = (request: ManagedRequest): string => idIn(request, 'skill_id', 'skill', 'Skill');

export const skillHandlers = (parts: Parts) =>
  ({
    'skills.create': async (request) => {
      const upload = await readSkillUpload(request.body, ['display_name']);
      return parts.skills.create(await newIds(parts, request, upload), request.person, upload);
    },
    'skills.retrieve': (request) => parts.skills.retrieve(skillIn(request)),
    'skills.delete': (request) => parts.skills.delete(skillIn(request), request.person),
    'skills.list': async (request): Promise<Paged<BetaSkill>> => {
      const query = parseQuery(skillList, request.query);
      const { source = 'custom' } = query;
      const all = source === 'custom' ? await parts.skills.list() : [];
      const list: ListRequest = { list: 'skills', order: 'desc', filter: filterOf(query), ...pageIn(query) };
      const page = pageOf(await parts.cursors(), list, all, placeOf);
      return { data: page.items.map(showSkill), next_page: page.next };
    },
    'skills.versions.create': async (request) => {
      const skill = skillIn(request);
      const upload = await readSkillUpload(request.body, []);
      const { version } = await newIds(parts, request, upload);
      return parts.skills.addVersion({ skill, version }, request.person, upload);
    },
    'skills.versions.list': async (request): Promise<Paged<BetaSkillVersion>> => {
      const query = parseQuery(pageQuery, request.query);
      const skill = skillIn(request);
      const all = (await parts.skills.versions(skill)).map((id, at) => ({ id, at }));
      const list: ListRequest = { list: `versions ${skill}`, order: 'asc', filter: null, ...pageIn(query) };
      const page = pageOf(await parts.cursors(), list, all, ({ at }) => String(at).padStart(9, '0'));
      const data = await Promise.all(page.items.map(({ id }) => parts.skills.versionOfSession(id)));
      return { data, next_page: page.next };
    },
    'skills.versions.retrieve': (request) => versionIn(parts, request),
    'skills.versions.download': async (request) => {
      const { id, name } = await versionIn(parts, request);
      const archive = new Uint8Array(await parts.skills.download(id));
      const headers = {
        'Content-Type': 'application/zip',
        'Content-Length': String(archive.length),
        'Content-Disposition': `attachment; filename="${name}.zip"`,
      };
      return new Response(archive, { headers });
    },
    'skills.versions.delete': (request) =>
      parts.skills.deleteVersion(skillIn(request), request.params['version'] ?? '', request.person),
  }) satisfies Partial<Record<ServedName, Handler>>;

async function newIds({ ports }: Parts, request: ManagedRequest, upload: SkillUpload): Promise<VersionIds> {
  const { archive, ...named } = upload;
  const content = createHash('sha256').update(archive).digest('hex');
  const makeIds = () => [newId('skill'), newId('skillver')];
  const [skill = '', version = ''] = await reserveIds(ports, { ...request, body: { ...named, content } }, makeIds);
  return { skill, version };
}

/**
 * Returns the version that a request names. A worker reads those of its session alone, also deleted
 * ones. Throws ManagedError.
 */
async function versionIn(parts: Parts, request: ManagedRequest): Promise<BetaSkillVersion> {
  const { caller, params } = request;
  const [skill, version] = [skillIn(request), params['version'] ?? ''];
  if (caller.kind !== 'session token') return parts.skills.version(skill, version);
  const { agent } = await parts.sessions.item(caller.lease.session);
  const { skills } = await parts.stored.sessionAgent(agent);
  const own = skills.find((one) => one.skill_id === skill && one.version === version);
  if (!own) throw new ManagedError(403, 'This version is of no skill of the session of this token');
  return parts.skills.versionOfSession(own.version);
}
