import { vi } from 'vitest'
import { conformance } from './rows.ts'
import { answers } from './spring-ai/answers.ts'
import { augmented } from './spring-ai/augmented.ts'
import { author } from './spring-ai/author.ts'
import { calls } from './spring-ai/calls.ts'
import { ends } from './spring-ai/ends.ts'
import { faults } from './spring-ai/faults.ts'
import { hooks } from './spring-ai/hooks.ts'
import { indexes } from './spring-ai/indexes.ts'
import { limits } from './spring-ai/limits.ts'
import { loop } from './spring-ai/loop.ts'
import { mcp } from './spring-ai/mcp.ts'
import { memories } from './spring-ai/memories.ts'
import { observed } from './spring-ai/observed.ts'
import { options } from './spring-ai/options.ts'
import { results } from './spring-ai/results.ts'
import { schemas } from './spring-ai/schemas.ts'
import { search } from './spring-ai/search.ts'
import { settings } from './spring-ai/settings.ts'
import { stream } from './spring-ai/stream.ts'

// A tool Worker logs what its tools throw, and here they throw on purpose.
vi.spyOn(console, 'error').mockImplementation(() => {})

conformance('Spring AI', 150, [
  ...[...calls, ...limits, ...answers, ...options],
  ...[...loop, ...stream, ...hooks],
  ...[...results, ...faults, ...author, ...schemas, ...augmented],
  ...[...memories, ...search, ...indexes, ...observed, ...settings, ...mcp, ...ends],
])
