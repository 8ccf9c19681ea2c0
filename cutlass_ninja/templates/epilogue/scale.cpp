/// alpha and beta, and what else the epilogue multiplies by.
OutputOp::Params scale(cutlass_ninja_{{ operation }}_arguments const& g) {
  using Compute = OutputOp::ElementCompute;
{%- if activation == "leaky_relu" and has_broadcast %}
  return {Compute(g.alpha), Compute(g.beta), {Compute(g.epilogue.leaky_relu_slope)}};
{%- elif activation == "leaky_relu" %}
  OutputOp::Params scaled(Compute(g.alpha), Compute(g.beta));
  scaled.leaky_alpha = Compute(g.epilogue.leaky_relu_slope);
  return scaled;
{%- else %}
  return {Compute(g.alpha), Compute(g.beta)};
{%- endif %}
}
