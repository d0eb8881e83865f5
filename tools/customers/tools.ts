import * as v from 'valibot'
import { defineTool, type RunContext, ToolError } from 'edgecall/tool'
import { type Customer, findCustomer } from './records.ts'

const input = v.strictObject({
  id: v.pipe(v.number(), v.integer(), v.minValue(1), v.description('The customer number, such as 42.')),
})

/** Looks up the record of a customer. */
export const getCustomer = defineTool({
  name: 'getCustomer',
  title: 'Look up a customer',
  description:
    'Looks up one customer by number. Use it when an answer depends on who a customer is, on their plan or on their ' +
    'open orders. Answers name, company, email, plan (free, team or enterprise), the date they became a customer and ' +
    'the number of open orders. To only show a customer to a person, use customerCard.',
  input,
  output: v.object({
    id: v.number(),
    name: v.string(),
    company: v.string(),
    email: v.string(),
    plan: v.picklist(['free', 'team', 'enterprise']),
    since: v.pipe(v.string(), v.description('YYYY-MM-DD')),
    openOrders: v.number(),
  }),
  annotations: { readOnly: true, idempotent: true, openWorld: false, private: true },
  run: ({ id }, context) => customerOf(context, id),
})

/** Shows a customer as a text card for people. */
export const customerCard = defineTool({
  name: 'customerCard',
  title: 'Show a customer card',
  description:
    'Shows one customer as a short text card, straight to the person who asked: the card is the whole answer, and you ' +
    'do not see it. Use it when someone asks to see a customer by number and nothing else; use getCustomer when you ' +
    'need the facts yourself.',
  input,
  annotations: { readOnly: true, idempotent: true, openWorld: false, private: true },
  returnDirect: 'always',
  run: ({ id }, context) => {
    const { name, company, email, plan, since, openOrders } = customerOf(context, id)
    return [
      `${name}, ${company}`,
      `Customer ${id} since ${since}, ${plan} plan`,
      `${openOrders} open ${openOrders === 1 ? 'order' : 'orders'}`,
      email,
    ].join('\n')
  },
})

/**
 * Returns a customer of the caller's tenant, which the edge knows from the API key. Neither an argument, which the model
 * writes, nor the tool context, which the request brings, can name another. A customer of another tenant gives the same
 * error as one that does not exist.
 */
function customerOf({ caller, values }: Pick<RunContext, 'caller' | 'values'>, id: number): Customer {
  const { tenantId = caller.tenant } = values
  if (tenantId !== caller.tenant) {
    throw new ToolError(
      'Customers cannot be looked up here: the calling application names another tenant in the tool context than that ' +
        'of its API key. No argument can change that, so do not try again.',
      { code: 'wrong_tenant' },
    )
  }
  const customer = findCustomer(caller.tenant, id)
  if (customer) return customer
  throw new ToolError(`There is no customer ${id}.`, { code: 'unknown_customer' })
}
