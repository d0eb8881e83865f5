import { catalogue, type CatalogueParts } from '../catalogue/catalogue.ts'
import { secretFilter } from '../contract/secrets.ts'
import { reportTo } from '../observe/log.ts'
import { type Env, secretsOf } from './env.ts'

/** The Durable Object class of the binding `CATALOG`, which orders the writes of stored tools and API keys. */
export class Catalog extends catalogue(catalogueParts) {}

/** Returns what the catalogue works with. Throws if `CATALOG` is bound without `TOOLS`, which holds its copy. */
export function catalogueParts(env: Env): CatalogueParts {
  const { TOOLS: namespace, DEFINITIONS: definitions, KEYS: keys } = env
  if (!namespace) throw new Error('CATALOG needs the binding TOOLS')
  return {
    namespace,
    compare: async (before, after) => {
      if (definitions) return definitions.compare(before, after)
      throw new Error('CATALOG needs the binding DEFINITIONS')
    },
    keys,
    report: reportTo('error', secretFilter(secretsOf(env))),
  }
}
