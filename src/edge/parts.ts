import type { Config } from '../contract/config.ts'
import type { SecretFilter } from '../contract/secrets.ts'
import type { Report } from '../contract/setup.ts'
import type { Env } from './env.ts'

/** What the parts of an edge are made from. */
export interface SetupParts {
  readonly env: Env
  readonly config: Config
  readonly report: Report
  /** Removes the values of the edge's secrets from texts; undefined if there are none. */
  readonly secrets: SecretFilter | undefined
}
