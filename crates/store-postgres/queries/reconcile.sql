-- reconcile: agenda_by_due, what this node holds
SELECT job, ticket
FROM agenda
WHERE due_at IS NOT NULL
    AND due_at <= $1
    AND holder = $2
