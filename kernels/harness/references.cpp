#include "kernels/harness/references.hpp"

#include <algorithm>
#include <cmath>

namespace sextant::bench::reference {
namespace {

struct Moments {
    double mean;
    double inverse_deviation;
};

Moments moments(Norm kind, Values const& x) {
    double const count = static_cast<double>(x.size());
    double mean = 0;
    if (kind == Norm::layer) {
        for (double const value : x)
            mean += value;
        mean /= count;
    }
    double variance = 0;
    for (double const value : x)
        variance += (value - mean) * (value - mean);
    return {mean, 1.0 / std::sqrt(variance / count + norm_epsilon)};
}

std::size_t at(std::int64_t row, std::int64_t width, std::int64_t column) {
    return static_cast<std::size_t>(row * width + column);
}

double score(Head const& head, std::int64_t query, std::int64_t key, Values const& q, Values const& k) {
    double sum = 0;
    for (std::int64_t d = 0; d < head.head_dim; ++d)
        sum += q[at(query, head.head_dim, d)] * k[at(key, head.head_dim, d)];
    return sum / std::sqrt(static_cast<double>(head.head_dim));
}

}  // namespace

double dot(Values const& a, Values const& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        sum += a[i] * b[i];
    return sum;
}

Values norm(Norm kind, Values const& x, Values const& weight, Values const& bias) {
    Moments const m = moments(kind, x);
    Values y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
        y[i] = (x[i] - m.mean) * m.inverse_deviation * weight[i] + (kind == Norm::layer ? bias[i] : 0.0);
    return y;
}

Values norm_backward(Norm kind, Values const& x, Values const& weight, Values const& dy, Values& d_weight,
                     Values& d_bias) {
    Moments const m = moments(kind, x);
    double const count = static_cast<double>(x.size());
    double along = 0, sum = 0;  // mean of g xhat, mean of g, with g = dy w
    for (std::size_t i = 0; i < x.size(); ++i) {
        double const xhat = (x[i] - m.mean) * m.inverse_deviation;
        along += dy[i] * weight[i] * xhat / count;
        if (kind == Norm::layer) sum += dy[i] * weight[i] / count;
    }
    Values dx(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        double const xhat = (x[i] - m.mean) * m.inverse_deviation;
        dx[i] = m.inverse_deviation * (dy[i] * weight[i] - sum - xhat * along);
        d_weight[i] += dy[i] * xhat;
        if (kind == Norm::layer) d_bias[i] += dy[i];
    }
    return dx;
}

double swiglu(double gate, double up) { return gate / (1 + std::exp(-gate)) * up; }

GatedGradient swiglu_backward(double gate, double up, double dy) {
    double const sigmoid = 1 / (1 + std::exp(-gate));
    return {.gate = dy * up * sigmoid * (1 + gate * (1 - sigmoid)), .up = dy * gate * sigmoid};
}

namespace {
double const gelu_factor = std::sqrt(2 / std::acos(-1.0));
constexpr double gelu_cubic = 0.044715;
}  // namespace

double gelu(double x) { return 0.5 * x * (1 + std::tanh(gelu_factor * (x + gelu_cubic * x * x * x))); }

double gelu_backward(double x, double dy) {
    double const t = std::tanh(gelu_factor * (x + gelu_cubic * x * x * x));
    return dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * gelu_factor * (1 + 3 * gelu_cubic * x * x));
}

double rotary_angle(std::int64_t position, std::int64_t pair, std::int64_t head_dim, double base) {
    return static_cast<double>(position) *
           std::pow(base, -2.0 * static_cast<double>(pair) / static_cast<double>(head_dim));
}

void rotate(Values& head, std::int64_t position) {
    std::size_t const half = head.size() / 2;
    for (std::size_t pair = 0; pair < half; ++pair) {
        double const angle =
            rotary_angle(position, static_cast<std::int64_t>(pair), static_cast<std::int64_t>(head.size()));
        double const x = head[pair], y = head[pair + half];
        head[pair] = x * std::cos(angle) - y * std::sin(angle);
        head[pair + half] = y * std::cos(angle) + x * std::sin(angle);
    }
}

Values softmax(Values const& logits) {
    double const largest = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    Values result(logits.size());
    for (std::size_t i = 0; i < logits.size(); ++i)
        sum += result[i] = std::exp(logits[i] - largest);
    for (double& value : result)
        value /= sum;
    return result;
}

double cross_entropy(Values const& logits, std::int64_t target) {
    double const largest = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (double const logit : logits)
        sum += std::exp(logit - largest);
    return largest + std::log(sum) - logits[static_cast<std::size_t>(target)];
}

Values cross_entropy_backward(Values const& logits, std::int64_t target, double scale) {
    Values gradient = softmax(logits);
    gradient[static_cast<std::size_t>(target)] -= 1;
    for (double& value : gradient)
        value *= scale;
    return gradient;
}

void adamw(AdamW const& settings, double g, double& p, double& m, double& v) {
    m = settings.beta1 * m + (1 - settings.beta1) * g;
    v = settings.beta2 * v + (1 - settings.beta2) * g * g;
    double const step = static_cast<double>(settings.step);
    double const m_hat = m / (1 - std::pow(settings.beta1, step));
    double const v_hat = v / (1 - std::pow(settings.beta2, step));
    p -= settings.learning_rate * (m_hat / (std::sqrt(v_hat) + settings.epsilon) + settings.weight_decay * p);
}

AttentionOutput attention(Head const& head, Values const& q, Values const& k, Values const& v) {
    AttentionOutput result{Values(q.size(), 0.0), Values(static_cast<std::size_t>(head.seq_q))};
    for (std::int64_t i = 0; i < head.seq_q; ++i) {
        Values scores;
        for (std::int64_t j = 0; j < head.seq_kv && head.sees(i, j); ++j)
            scores.push_back(score(head, i, j, q, k));
        Values const weights = softmax(scores);
        result.lse[static_cast<std::size_t>(i)] = scores[0] - std::log(weights[0]);
        for (std::size_t j = 0; j < weights.size(); ++j)
            for (std::int64_t d = 0; d < head.head_dim; ++d)
                result.out[at(i, head.head_dim, d)] +=
                    weights[j] * v[at(static_cast<std::int64_t>(j), head.head_dim, d)];
    }
    return result;
}

Values attention_row(Head const& head, std::int64_t query, Values const& q, Values const& k, Values const& v) {
    std::int64_t const visible = head.causal ? query + head.seq_kv - head.seq_q + 1 : head.seq_kv;
    Head const one{.seq_q = 1, .seq_kv = visible, .head_dim = head.head_dim, .causal = false};
    return attention(one, q, k, v).out;
}

AttentionGradient attention_backward(Head const& head, Values const& q, Values const& k, Values const& v,
                                     Values const& d_out) {
    AttentionGradient result{Values(q.size(), 0.0), Values(k.size(), 0.0), Values(v.size(), 0.0)};
    double const scale = 1 / std::sqrt(static_cast<double>(head.head_dim));
    for (std::int64_t i = 0; i < head.seq_q; ++i) {
        Values scores;
        for (std::int64_t j = 0; j < head.seq_kv && head.sees(i, j); ++j)
            scores.push_back(score(head, i, j, q, k));
        Values const weights = softmax(scores);
        Values d_weights(weights.size(), 0.0);
        double mean = 0;
        for (std::size_t j = 0; j < weights.size(); ++j) {
            for (std::int64_t d = 0; d < head.head_dim; ++d) {
                double const go = d_out[at(i, head.head_dim, d)];
                std::size_t const key = at(static_cast<std::int64_t>(j), head.head_dim, d);
                d_weights[j] += go * v[key];
                result.dv[key] += weights[j] * go;
            }
            mean += weights[j] * d_weights[j];
        }
        for (std::size_t j = 0; j < weights.size(); ++j) {
            double const d_score = weights[j] * (d_weights[j] - mean) * scale;
            for (std::int64_t d = 0; d < head.head_dim; ++d) {
                std::size_t const query = at(i, head.head_dim, d),
                                  key = at(static_cast<std::int64_t>(j), head.head_dim, d);
                result.dq[query] += d_score * k[key];
                result.dk[key] += d_score * q[query];
            }
        }
    }
    return result;
}

Values attention_row_backward(Head const& head, std::int64_t query, Values const& q, Values const& k, Values const& v,
                              Values const& d_out) {
    std::int64_t const visible = head.causal ? query + head.seq_kv - head.seq_q + 1 : head.seq_kv;
    Head const one{.seq_q = 1, .seq_kv = visible, .head_dim = head.head_dim, .causal = false};
    return attention_backward(one, q, k, v, d_out).dq;
}

void add_key_gradient(Head const& head, std::int64_t key, QueryHead const& queries, Values const& k, Values const& v,
                      KeyGradient& gradient) {
    double const scale = 1 / std::sqrt(static_cast<double>(head.head_dim));
    for (std::int64_t i = 0; i < head.seq_q; ++i) {
        if (!head.sees(i, key)) continue;
        double of_scores = 0, of_weights = 0;
        for (std::int64_t d = 0; d < head.head_dim; ++d) {
            of_scores += queries.q[at(i, head.head_dim, d)] * k[at(0, head.head_dim, d)];
            of_weights += queries.d_out[at(i, head.head_dim, d)] * v[at(0, head.head_dim, d)];
        }
        double const weight = std::exp(of_scores * scale - queries.lse[at(i, 1, 0)]);
        double const d_score = weight * (of_weights - queries.delta[at(i, 1, 0)]) * scale;
        for (std::int64_t d = 0; d < head.head_dim; ++d) {
            gradient.dk[at(0, head.head_dim, d)] += d_score * queries.q[at(i, head.head_dim, d)];
            gradient.dv[at(0, head.head_dim, d)] += weight * queries.d_out[at(i, head.head_dim, d)];
        }
    }
}

}  // namespace sextant::bench::reference
