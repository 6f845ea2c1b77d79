/** Texts about what an approval policy requires, loaded with the cards of confirmations: [English, Chinese]. */
export const approval = {
  title: ["Approvers", "审批人"],
  now: ["The policy “{policy}” asks {who}.", "策略“{policy}”要求由{who}审批。"],
  later: ["From {time}: also {who}.", "{time} 起还可由{who}审批。"],
  owner: ["the owner of the session", "会话所有者"],
  barred: ["{user} made the request and can't answer it.", "{user} 是请求者，不能审批。"],
  several: ["{count} different people must approve.", "需要 {count} 位不同的人批准。"],
  count: ["{given} of {quorum} approvals", "已批准 {given}/{quorum}"],
  you_have: [
    "You have approved; {count} more {count|person|people} must.",
    "您已批准，还需 {count} 人批准。",
  ],
  you_are_barred: [
    "You can't answer this: the policy “{policy}” bars its requester.",
    "您不能处理此项：策略“{policy}”不允许请求者自行审批。",
  ],
  not_you: [
    "You can't answer this: the policy “{policy}” names other approvers.",
    "您不能处理此项：策略“{policy}”指定了其他审批人。",
  ],
} as const satisfies Record<string, readonly [string, string?]>;
