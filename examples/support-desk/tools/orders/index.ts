import * as v from 'valibot'
import { defineTool, serveTools, ToolError } from 'edgecall/tool'

/** Stands for a shop's database. */
const orders = [
  { number: 'A-1001', tenant: 'acme', item: 'kettle', price: 49, status: 'delivered' },
  { number: 'A-1002', tenant: 'acme', item: 'mug', price: 12, status: 'shipped' },
]

const orderStatus = defineTool({
  name: 'orderStatus',
  description: 'Looks up one order. Use it before you speak of an order. Answers item, price and status.',
  input: v.object({
    number: v.pipe(v.string(), v.regex(/^[A-Z]-\d{4}$/), v.description('As on the invoice: A-1001')),
  }),
  annotations: { readOnly: true, openWorld: false, private: true },
  run: ({ number }, { caller }) => {
    const order = orders.find((each) => each.number === number && each.tenant === caller.tenant)
    if (!order) throw new ToolError(`There is no order ${number}. Ask for the number on the invoice.`)
    const { item, price, status } = order
    return { item, price, status }
  },
})

export default serveTools(orderStatus)
