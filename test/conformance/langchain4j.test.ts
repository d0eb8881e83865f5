import { vi } from 'vitest'
import { calls } from './langchain4j/calls.ts'
import { defaults } from './langchain4j/defaults.ts'
import { definitions } from './langchain4j/definitions.ts'
import { described } from './langchain4j/described.ts'
import { direct } from './langchain4j/direct.ts'
import { faults } from './langchain4j/faults.ts'
import { kinds } from './langchain4j/kinds.ts'
import { loop } from './langchain4j/loop.ts'
import { mcp } from './langchain4j/mcp.ts'
import { memories } from './langchain4j/memory.ts'
import { offer } from './langchain4j/offer.ts'
import { results } from './langchain4j/results.ts'
import { searches } from './langchain4j/search.ts'
import { skills } from './langchain4j/skills.ts'
import { stream } from './langchain4j/stream.ts'
import { texts } from './langchain4j/texts.ts'
import { told } from './langchain4j/told.ts'
import { undo } from './langchain4j/undo.ts'
import { unpinnedCalls } from './langchain4j/unpinned-calls.ts'
import { unpinnedOffers } from './langchain4j/unpinned-offers.ts'
import { unpinnedRuns } from './langchain4j/unpinned-runs.ts'
import { values } from './langchain4j/values.ts'
import { watch } from './langchain4j/watch.ts'
import { conformance } from './rows.ts'

// A tool Worker logs what its tools throw, and here they throw on purpose.
vi.spyOn(console, 'error').mockImplementation(() => {})

conformance('LangChain4j', 120, [
  ...values,
  ...calls,
  ...texts,
  ...defaults,
  ...definitions,
  ...described,
  ...loop,
  ...results,
  ...kinds,
  ...direct,
  ...faults,
  ...offer,
  ...told,
  ...undo,
  ...searches,
  ...memories,
  ...stream,
  ...watch,
  ...mcp,
  ...skills,
  ...unpinnedCalls,
  ...unpinnedRuns,
  ...unpinnedOffers,
])
